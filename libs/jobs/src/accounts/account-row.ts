import { type Account, type AccountStatus, notFoundError } from '@muster/contracts';
import {
  type AccountEntity,
  type AccountUseEntity,
  type Database,
  type Scope,
  type Transaction,
} from '@muster/database';
import type { Page } from '@muster/platform';

export interface AccountRow extends Pick<
  AccountEntity,
  | 'id'
  | 'name'
  | 'pool'
  | 'vaultKeys'
  | 'limit'
  | 'cooldownSeconds'
  | 'enabled'
  | 'setAsideReason'
  | 'setAsideMessage'
  | 'setAsideSince'
  | 'setAsideJobId'
> {
  status: AccountStatus;
}

const select = `
  SELECT a.id, a.name, a.pool, a.vault_keys, a."limit", a.cooldown_seconds, a.enabled, a.set_aside_reason,
         a.set_aside_message, a.set_aside_since, a.set_aside_job_id,
         CASE WHEN a.set_aside_since IS NOT NULL THEN 'set_aside'
              WHEN NOT a.enabled THEN 'disabled'
              WHEN (SELECT count(*) FROM account_use h WHERE h.organization_id = a.organization_id AND h.account = a.name
                      AND h.until IS NULL) >= a."limit" THEN 'busy'
              WHEN (SELECT max(e.until) FROM account_use e WHERE e.organization_id = a.organization_id
                      AND e.account = a.name) + a.cooldown_seconds * interval '1 second' > muster_clock() THEN 'resting'
              ELSE 'free' END AS status
  FROM account a`;

/** Lists accounts by name. */
export function listAccounts(
  database: Database,
  organizationId: string,
  { page, pool }: { page: Page; pool?: string | undefined },
): Promise<AccountRow[]> {
  return database.query<AccountRow>(
    { organizationId },
    `${select} WHERE a.organization_id = $1 AND ($2::text IS NULL OR a.name > $2) AND ($4::text IS NULL OR a.pool = $4)
     ORDER BY a.name LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1, pool ?? null],
    'list_accounts',
  );
}

/** Returns an account by its id, for an event about it. */
export async function findAccount(database: Database, organizationId: string, id: string): Promise<AccountRow> {
  const [row] = await database.query<AccountRow>(
    { organizationId },
    `${select} WHERE a.id = $1 AND a.organization_id = $2`,
    [id, organizationId],
    'find_account',
  );
  if (!row) throw notFoundError('account');
  return row;
}

/** Returns an account by its name; undefined if there is none. */
export async function readAccount(
  tx: Transaction,
  organizationId: string,
  name: string,
): Promise<AccountRow | undefined> {
  const [row] = await tx.query<AccountRow>(
    `${select} WHERE a.organization_id = $1 AND a.name = $2`,
    [organizationId, name],
    'read_account',
  );
  return row;
}

export type AccountUseRow = Pick<AccountUseEntity, 'jobId' | 'until'> & { agentId: string; since: Date };

/**
 * Lists the runs that have or had an account, the newest use first. The uses of a deleted account are still listed.
 * Throws if there has never been an account with this name.
 */
export async function listAccountUses(
  database: Database,
  organizationId: string,
  { name, page }: { name: string; page: Page },
): Promise<AccountUseRow[]> {
  const scope: Scope = { organizationId };
  // The first page has a separate statement. With `OR` for the missing position, Postgres would not read the index from
  // the position on.
  const after = page.after ? 'AND (since, job_id) < ($4::timestamptz, $5::uuid)' : '';
  const rows = await database.query<AccountUseRow>(
    scope,
    `SELECT job_id, agent_id, since, until FROM account_use
     WHERE organization_id = $1 AND account = $2 AND since IS NOT NULL ${after}
     ORDER BY since DESC, job_id DESC LIMIT $3`,
    [organizationId, name, page.limit + 1, ...(page.after ?? [])],
    page.after ? 'list_account_uses_after' : 'list_account_uses',
  );
  if (rows.length > 0 || page.after) return rows;
  const [account] = await database.query(scope, 'SELECT FROM account WHERE organization_id = $1 AND name = $2', [
    organizationId,
    name,
  ]);
  if (!account) throw notFoundError('account');
  return rows;
}

export function presentAccount(row: AccountRow): Account {
  const { name, pool, vaultKeys, limit, cooldownSeconds, enabled, status } = row;
  const { setAsideReason: reason, setAsideMessage: message, setAsideSince: since, setAsideJobId: jobId } = row;
  const setAside = reason && since && jobId ? { reason, message, since: since.toISOString(), jobId } : null;
  return { name, pool, vaultKeys, limit, cooldownSeconds, enabled, status, setAside };
}
