import { audit, listChangedFields, type Principal, requireExistingSecrets } from '@muster/access';
import {
  AppError,
  type FieldError,
  invalidFieldError,
  notFoundError,
  type PutAccountBody,
  checkVariableName,
  type UpdateAccountBody,
} from '@muster/contracts';
import { type AccountEntity, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { type AccountRow, readAccount } from './account-row';
import { enqueueJobsWaitingForPools, lockAccountPool } from './borrow-accounts';

type Definition = Pick<AccountEntity, 'pool' | 'vaultKeys' | 'limit' | 'cooldownSeconds' | 'enabled'>;

const maxNameLength = 100;

/**
 * Creates or replaces an account. Runs that have the account keep it, and an account that was set aside stays set
 * aside.
 */
export async function putAccount(
  tx: Transaction,
  caller: Principal,
  name: string,
  { vaultKeys, pool, limit = 1, cooldownSeconds = 0, enabled = true }: PutAccountBody,
): Promise<AccountRow> {
  requireValidAccountName(name);
  const definition = { vaultKeys, pool, limit, cooldownSeconds, enabled };
  const before = await lockAccountByName(tx, caller.organizationId, name);
  return saveAccountDefinition(tx, caller, { name, before, definition, isNew: true });
}

/** Changes an account. With `enabled: true`, an account that was set aside is put back. */
export async function updateAccount(
  tx: Transaction,
  caller: Principal,
  name: string,
  change: UpdateAccountBody,
): Promise<AccountRow> {
  const before = await lockAccountByName(tx, caller.organizationId, name);
  if (!before) throw notFoundError('account');
  const { vaultKeys, pool, limit, cooldownSeconds, enabled } = before;
  const own = { vaultKeys, pool, limit, cooldownSeconds, enabled };
  const set = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const definition: Definition = { ...own, ...set };
  return saveAccountDefinition(tx, caller, { name, before, definition, isPutBack: change.enabled === true });
}

/** Reads an account that the transaction will change. Concurrent changes of the account wait. */
async function lockAccountByName(
  tx: Transaction,
  organizationId: string,
  name: string,
): Promise<AccountRow | undefined> {
  await acquireAdvisoryLock(tx, 'account', organizationId, name);
  return readAccount(tx, organizationId, name);
}

async function saveAccountDefinition(
  tx: Transaction,
  caller: Principal,
  {
    name,
    before,
    definition,
    isNew = false,
    isPutBack = false,
  }: {
    name: string;
    before: AccountRow | undefined;
    definition: Definition;
    /** Whether the account is created if it does not exist. */
    isNew?: boolean;
    isPutBack?: boolean;
  },
): Promise<AccountRow> {
  const { organizationId } = caller;
  const { vaultKeys, pool, limit, cooldownSeconds, enabled } = definition;
  requireValidVaultKeys(vaultKeys);
  const names = Object.keys(vaultKeys);
  await requireExistingSecrets(tx, organizationId, Object.values(vaultKeys), {
    fieldAt: (at) => `vaultKeys.${names[at]}`,
    valuesOnly: true,
  });
  const pools = [...new Set([pool, ...(before ? [before.pool] : [])])].sort();
  for (const each of pools) await lockAccountPool(tx, organizationId, each);
  const saved = await tx.query(
    isNew
      ? `INSERT INTO account AS a (organization_id, name, pool, vault_keys, "limit", cooldown_seconds, enabled, id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (organization_id, name) DO UPDATE
         SET pool = $3, vault_keys = $4, "limit" = $5, cooldown_seconds = $6, enabled = $7 RETURNING a.name`
      : `UPDATE account SET pool = $3, vault_keys = $4, "limit" = $5, cooldown_seconds = $6, enabled = $7,
           set_aside_reason = CASE WHEN NOT $8 THEN set_aside_reason END,
           set_aside_message = CASE WHEN NOT $8 THEN set_aside_message END,
           set_aside_since = CASE WHEN NOT $8 THEN set_aside_since END,
           set_aside_job_id = CASE WHEN NOT $8 THEN set_aside_job_id END
         WHERE organization_id = $1 AND name = $2 RETURNING name`,
    [
      ...[organizationId, name, pool, JSON.stringify(vaultKeys), limit, cooldownSeconds, enabled],
      isNew ? newId() : isPutBack,
    ],
  );
  if (saved.length === 0) throw notFoundError('account');
  audit(tx, caller, {
    action: before ? 'account.update' : 'account.create',
    target: { type: 'account', id: name },
    changes: before
      ? {
          ...listChangedFields({ ...before }, { ...definition }),
          ...(isPutBack && before.setAsideSince ? { setAside: [before.setAsideReason, null] } : {}),
        }
      : { ...definition },
  });
  await enqueueJobsWaitingForPools(tx, organizationId, pools);
  return (await readAccount(tx, organizationId, name))!;
}

/**
 * Deletes an account. A run that has the account keeps its secrets until the run ends, and the account's uses are still
 * listed.
 */
export async function deleteAccount(tx: Transaction, caller: Principal, name: string): Promise<void> {
  const { organizationId } = caller;
  const touched = await tx.execute('DELETE FROM account WHERE organization_id = $1 AND name = $2', [
    organizationId,
    name,
  ]);
  if (touched === 0) throw notFoundError('account');
  audit(tx, caller, { action: 'account.delete', target: { type: 'account', id: name } });
}

/** Puts back the accounts that were set aside and that use the vault key, because the key has a new value. */
export async function enableAccountsWithKey(tx: Transaction, caller: Principal, vaultKey: string): Promise<void> {
  const { organizationId } = caller;
  const accounts = await tx.query<Pick<AccountEntity, 'name' | 'pool'> & { reason: string }>(
    `WITH found AS (
       SELECT name, set_aside_reason FROM account
       WHERE organization_id = $1 AND set_aside_since IS NOT NULL
         AND EXISTS (SELECT FROM jsonb_each_text(vault_keys) k WHERE k.value = $2) ORDER BY name FOR UPDATE)
     UPDATE account a SET set_aside_reason = NULL, set_aside_message = NULL, set_aside_since = NULL, set_aside_job_id = NULL
     FROM found WHERE a.organization_id = $1 AND a.name = found.name
     RETURNING a.name, a.pool, found.set_aside_reason AS reason`,
    [organizationId, vaultKey],
    'put_back_accounts',
  );
  for (const { name, reason } of accounts) {
    audit(tx, caller, {
      action: 'account.put_back',
      target: { type: 'account', id: name },
      changes: { setAside: [reason, null] },
    });
  }
  await enqueueJobsWaitingForPools(
    tx,
    organizationId,
    accounts.map(({ pool }) => pool),
  );
}

function requireValidAccountName(name: string): void {
  const message = `name must have 1 to ${maxNameLength} characters, without control characters`;
  if (name.length > maxNameLength || !/^[^\p{Cc}]*$/u.test(name) || name.trim() === '') {
    throw invalidFieldError('name', message, `${message}.`);
  }
}

/**
 * Throws if a name cannot be the last part of the name of an environment variable, or equals another name in upper
 * case.
 */
function requireValidVaultKeys(vaultKeys: Record<string, string>): void {
  const names = Object.keys(vaultKeys);
  const upper = names.map((name) => name.toUpperCase());
  const errors: FieldError[] = names.flatMap((name, at) => {
    const field = `vaultKeys.${name}`;
    if (checkVariableName(`A_${name}`)) {
      return [{ field, message: 'a name consists of letters, digits and underscores' }];
    }
    return upper.indexOf(upper[at]!) < at ? [{ field, message: `${name} is named twice in upper case` }] : [];
  });
  if (names.length === 0) errors.push({ field: 'vaultKeys', message: 'vaultKeys must name at least one secret' });
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}
