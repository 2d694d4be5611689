import { AppError, invalidFieldError, notFoundError, checkVariableName, type SecretKind } from '@muster/contracts';
import { type Database, containsIgnoringCaseSql, type Transaction, VaultSecretEntity } from '@muster/database';
import { type Page, Round, sweepRows, type SweepCounts } from '@muster/platform';
import { type KeyRing, openEnvelope, rewrapEnvelope, sealValue } from '@muster/vault';
import { audit } from '../audit/audit';
import type { Principal } from '../principal';
import { parseTotpSecret } from './totp';

/** Creates or replaces a secret. The value is sealed before it is passed to a statement. */
export async function putSecret(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  key: string,
  { value, kind = 'secret' }: { value: string; kind?: SecretKind },
): Promise<VaultSecretEntity & { created: boolean }> {
  const refused = checkVariableName(key);
  if (refused) {
    throw invalidFieldError('key', refused, refused);
  }
  if (kind === 'totp') parseTotpSecret(value);
  const { organizationId } = caller;
  const envelope = sealValue(keyRing, buildSecretAssociatedData(organizationId, key), value);
  const [row] = await tx.query<{ created: boolean }>(
    `INSERT INTO vault_secret (organization_id, key, master_key_id, wrapped_key, sealed, kind)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (organization_id, key) DO UPDATE
     SET master_key_id = excluded.master_key_id, wrapped_key = excluded.wrapped_key, sealed = excluded.sealed,
         kind = excluded.kind, updated_at = muster_now()
     RETURNING xmax = 0 AS created`,
    [organizationId, key, envelope.masterKeyId, envelope.wrappedKey, envelope.sealed, kind],
  );
  const { created } = row!;
  audit(tx, caller, {
    action: created ? 'secret.create' : 'secret.update',
    target: { type: 'secret', id: key },
  });
  return { ...(await tx.manager.findOneByOrFail(VaultSecretEntity, { organizationId, key })), created };
}

/** Lists secrets by name. No value is shown again. */
export function listSecrets(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<VaultSecretEntity[]> {
  return database.transaction({ organizationId }, (tx) => {
    const secrets = tx.manager
      .createQueryBuilder(VaultSecretEntity, 's')
      .where('s.organizationId = :organizationId', { organizationId })
      .orderBy('s.key')
      .limit(page.limit + 1);
    if (q) secrets.andWhere(containsIgnoringCaseSql('s.key', ':q'), { q });
    if (page.after) secrets.andWhere('s.key > :after', { after: page.after[0] });
    return secrets.getMany();
  });
}

export async function deleteSecret(tx: Transaction, caller: Principal, key: string): Promise<void> {
  const touched = await tx.execute('DELETE FROM vault_secret WHERE organization_id = $1 AND key = $2', [
    caller.organizationId,
    key,
  ]);
  if (touched === 0) throw notFoundError('secret');
  audit(tx, caller, { action: 'secret.delete', target: { type: 'secret', id: key } });
}

/**
 * Throws invalid_payload if the vault lacks a name, so that a request fails at once and not at the later delivery. With
 * `valuesOnly`, TOTP secrets are rejected too, because only their codes may be used.
 */
export async function requireExistingSecrets(
  tx: Transaction,
  organizationId: string,
  keys: readonly string[],
  { fieldAt = (at) => `vaultKeys.${at}`, valuesOnly = false }: SecretRequirement = {},
): Promise<void> {
  if (keys.length === 0) return;
  const rows = await tx.query<Pick<VaultSecretEntity, 'key' | 'kind'>>(
    'SELECT key, kind FROM vault_secret WHERE organization_id = $1 AND key = ANY($2)',
    [organizationId, keys],
    'known_secrets',
  );
  const kinds = new Map(rows.map(({ key, kind }) => [key, kind]));
  const errors = keys.flatMap((key, at) => {
    const kind = kinds.get(key);
    if (kind === undefined) return [{ field: fieldAt(at), message: `the vault has no secret ${key}` }];
    if (!valuesOnly || kind === 'secret') return [];
    return [{ field: fieldAt(at), message: `${key} is a TOTP secret, which has no value that may be used here` }];
  });
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

interface SecretRequirement {
  fieldAt?: (at: number) => string;
  valuesOnly?: boolean;
}

/** Returns which of the named secrets are TOTP secrets. */
export async function findTotpKeys(
  tx: Transaction,
  organizationId: string,
  keys: readonly string[],
): Promise<string[]> {
  if (keys.length === 0) return [];
  const rows = await tx.query<Pick<VaultSecretEntity, 'key'>>(
    "SELECT key FROM vault_secret WHERE organization_id = $1 AND key = ANY($2) AND kind = 'totp'",
    [organizationId, keys],
    'totp_keys',
  );
  return rows.map(({ key }) => key);
}

/**
 * Opens the named secrets for their delivery, and returns which of them are missing. TOTP secrets have no value here,
 * because only their codes leave the service.
 */
export async function resolveSecrets(
  database: Database,
  keyRing: KeyRing,
  organizationId: string,
  keys: string[],
): Promise<{ values: Record<string, string>; missing: string[] }> {
  const rows = await database.query<Pick<VaultSecretEntity, 'key' | 'kind' | 'masterKeyId' | 'wrappedKey' | 'sealed'>>(
    { organizationId },
    `SELECT key, kind, master_key_id, wrapped_key, sealed FROM vault_secret
     WHERE organization_id = $1 AND key = ANY($2)`,
    [organizationId, keys],
  );
  const values = Object.fromEntries(
    rows
      .filter(({ kind }) => kind === 'secret')
      .map(({ key, masterKeyId, wrappedKey, sealed }) => [
        key,
        openEnvelope(keyRing, buildSecretAssociatedData(organizationId, key), { masterKeyId, wrappedKey, sealed }),
      ]),
  );
  return { values, missing: keys.filter((name) => !rows.some(({ key }) => key === name)) };
}

/** Opens all secrets of an organization. Use it only to hide their values in data that is sent elsewhere. */
export async function decryptAllSecrets(
  database: Database,
  keyRing: KeyRing,
  organizationId: string,
): Promise<string[]> {
  const rows = await database.query<Pick<VaultSecretEntity, 'key' | 'masterKeyId' | 'wrappedKey' | 'sealed'>>(
    { organizationId },
    'SELECT key, master_key_id, wrapped_key, sealed FROM vault_secret WHERE organization_id = $1',
    [organizationId],
    'secret_values',
  );
  return rows.map(({ key, masterKeyId, wrappedKey, sealed }) =>
    openEnvelope(keyRing, buildSecretAssociatedData(organizationId, key), { masterKeyId, wrappedKey, sealed }),
  );
}

/** Rewraps secrets with the active master key, so that an old master key can be removed from the ring. */
export function rewrapSecrets(
  database: Database,
  keyRing: KeyRing,
  round = new Round('rewrap secrets'),
): Promise<SweepCounts<'rewrapped'>> {
  return sweepRows(round, {
    name: 'secrets',
    outcomes: ['rewrapped'],
    candidates: (after: SecretKey | null, limit) =>
      database.query<SecretKey & object>(
        'system',
        `SELECT organization_id, key FROM vault_secret
         WHERE master_key_id <> $1 AND ($2::uuid IS NULL OR (organization_id, key) > ($2, $3))
         ORDER BY organization_id, key LIMIT $4`,
        [keyRing.activeKey.id, after?.organizationId ?? null, after?.key ?? null, limit],
      ),
    settle: async (secret) =>
      (await database.transaction('system', (tx) => rewrapSecret(tx, keyRing, secret))) ? 'rewrapped' : null,
    rowOf: ({ organizationId, key }) => `secret ${key} of organization ${organizationId}`,
  });
}

type SecretKey = Pick<VaultSecretEntity, 'organizationId' | 'key'>;

async function rewrapSecret(tx: Transaction, keyRing: KeyRing, { organizationId, key }: SecretKey): Promise<boolean> {
  const [row] = await tx.query<Pick<VaultSecretEntity, 'masterKeyId' | 'wrappedKey' | 'sealed'>>(
    `SELECT master_key_id, wrapped_key, sealed FROM vault_secret
     WHERE organization_id = $1 AND key = $2 AND master_key_id <> $3 FOR UPDATE SKIP LOCKED`,
    [organizationId, key, keyRing.activeKey.id],
  );
  const rewrapped = row && rewrapEnvelope(keyRing, buildSecretAssociatedData(organizationId, key), row);
  if (!rewrapped) return false;
  await tx.execute(
    'UPDATE vault_secret SET master_key_id = $3, wrapped_key = $4 WHERE organization_id = $1 AND key = $2',
    [organizationId, key, rewrapped.masterKeyId, rewrapped.wrappedKey],
  );
  return true;
}

/**
 * Returns the associated data of a sealed value. It contains the organization and the name, so that a value that was
 * copied to another organization or name cannot be decrypted.
 */
export function buildSecretAssociatedData(organizationId: string, key: string): string {
  return `${organizationId}/${key}`;
}
