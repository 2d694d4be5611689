import { isSealedValue, type SealedValue, type StoredVariables } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { Round, type SweepCounts } from '@muster/platform';
import {
  decryptText,
  encryptText,
  type Envelope,
  generateDataKey,
  type KeyRing,
  openEnvelope,
  sealValue,
} from '@muster/vault';
import { rewrapOrganizationRows } from './rewrap-organization-rows';

/** Keys of organizations. A key never changes, only the master key that wraps it. */
const loadedKeys = new WeakMap<KeyRing, Map<string, Buffer>>();
const maxLoadedKeys = 1000;

/** Seals and opens values of one organization. */
export interface ValueCipher {
  seal(text: string): SealedValue;
  open(value: SealedValue): string;
}

/** Returns the cipher of the organization's values. Creates the organization's key at the first use. */
export async function loadValueCipher(tx: Transaction, keyRing: KeyRing, organizationId: string): Promise<ValueCipher> {
  const key = await loadOrCreateOrganizationKey(tx, keyRing, organizationId);
  const associatedData = buildAssociatedData(organizationId);
  return {
    seal: (text) => ({ sealed: encryptText(key, associatedData, text) }),
    open: ({ sealed }) => decryptText(key, associatedData, sealed),
  };
}

/** Returns a function that seals texts of the organization. Creates the organization's key at the first use. */
export async function loadValueSealer(
  tx: Transaction,
  keyRing: KeyRing,
  organizationId: string,
): Promise<(text: string) => SealedValue> {
  return (await loadValueCipher(tx, keyRing, organizationId)).seal;
}

/** Seals the variables with these names. Values that are sealed already stay as they are. */
export async function sealVariables(
  tx: Transaction,
  keyRing: KeyRing,
  organizationId: string,
  { variables, names }: { variables: StoredVariables; names: readonly string[] },
): Promise<StoredVariables> {
  if (!names.some((name) => typeof variables[name] === 'string')) return variables;
  const seal = await loadValueSealer(tx, keyRing, organizationId);
  return sealNamedVariables(variables, names, seal);
}

export function sealNamedVariables(
  variables: StoredVariables,
  names: readonly string[],
  seal: (text: string) => SealedValue,
): StoredVariables {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      typeof value === 'string' && names.includes(name) ? seal(value) : value,
    ]),
  );
}

/** Returns a function that opens sealed values of the organization. */
export async function loadValueOpener(
  database: Database,
  keyRing: KeyRing,
  organizationId: string,
): Promise<(value: SealedValue) => string> {
  const key =
    loadedKeys.get(keyRing)?.get(organizationId) ??
    (await database.transaction({ organizationId }, (tx) => readOrganizationKey(tx, keyRing, organizationId)));
  if (!key) throw new Error(`organization ${organizationId} has no key, so it has no sealed values`);
  return ({ sealed }) => decryptText(key, buildAssociatedData(organizationId), sealed);
}

/** Returns the sealed variables as texts, by name. */
export async function openVariables(
  database: Database,
  keyRing: KeyRing,
  organizationId: string,
  variables: StoredVariables,
): Promise<Record<string, string>> {
  const sealed = Object.entries(variables).filter(([, value]) => isSealedValue(value));
  if (sealed.length === 0) return {};
  const open = await loadValueOpener(database, keyRing, organizationId);
  return Object.fromEntries(sealed.map(([name, value]) => [name, open(value as SealedValue)]));
}

async function loadOrCreateOrganizationKey(tx: Transaction, keyRing: KeyRing, organizationId: string): Promise<Buffer> {
  const known =
    loadedKeys.get(keyRing)?.get(organizationId) ?? (await readOrganizationKey(tx, keyRing, organizationId));
  if (known) return known;
  const { masterKeyId, wrappedKey, sealed } = sealValue(
    keyRing,
    buildAssociatedData(organizationId),
    generateDataKey().toString('base64'),
  );
  // A concurrent transaction may create the key first. Then its key is read.
  await tx.execute(
    `INSERT INTO value_key (organization_id, master_key_id, wrapped_key, sealed) VALUES ($1, $2, $3, $4)
     ON CONFLICT (organization_id) DO NOTHING`,
    [organizationId, masterKeyId, wrappedKey, sealed],
  );
  return (await readOrganizationKey(tx, keyRing, organizationId))!;
}

async function readOrganizationKey(tx: Transaction, keyRing: KeyRing, organizationId: string): Promise<Buffer | null> {
  const [row] = await tx.query<Envelope & object>(
    'SELECT master_key_id, wrapped_key, sealed FROM value_key WHERE organization_id = $1',
    [organizationId],
    'read_value_key',
  );
  if (!row) return null;
  const key = Buffer.from(openEnvelope(keyRing, buildAssociatedData(organizationId), row), 'base64');
  // This transaction may have created the key itself. If it is rolled back, values that were sealed with the key later
  // could never be opened.
  tx.onCommit(() => cacheOrganizationKey(keyRing, organizationId, key));
  return key;
}

function cacheOrganizationKey(keyRing: KeyRing, organizationId: string, key: Buffer): void {
  const keys = loadedKeys.get(keyRing) ?? new Map<string, Buffer>();
  loadedKeys.set(keyRing, keys);
  if (keys.size >= maxLoadedKeys) keys.clear();
  keys.set(organizationId, key);
}

/** Rewraps the keys with the active master key, so that an old master key can be removed from the ring. */
export function rewrapValueKeys(
  database: Database,
  keyRing: KeyRing,
  round = new Round('rewrap keys of sealed values'),
): Promise<SweepCounts<'rewrapped'>> {
  return rewrapOrganizationRows(database, keyRing, round, {
    ...{ name: 'keys of sealed values', table: 'value_key', row: 'key' },
    update: 'UPDATE value_key SET master_key_id = $2, wrapped_key = $3 WHERE organization_id = $1',
    buildAssociatedData,
  });
}

/** The associated data that binds a sealed value to its organization. */
function buildAssociatedData(organizationId: string): string {
  return `${organizationId}/values`;
}
