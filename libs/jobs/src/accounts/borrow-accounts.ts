import type { AccountRequest } from '@muster/contracts';
import { type Database, type PlacedJob, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { waitsForKeySql } from '../dispatch/concurrency-keys';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { hasIdleAgentSql } from '../placement/fitting-agents';
import { freeAccountsSql, freeAccountCountSql, unusedLongestSql, waitsForAccountSql } from './accounts-sql';

/** An account that is assigned to a run. */
export interface Borrowed extends AccountRequest {
  account: string;
  vaultKeys: Record<string, string>;
}

/** Result of the choice: the accounts that the job gets, or the pool in which no account is free for the job. */
export type Choice = { busyPool: string } | { accounts: Borrowed[] };

/** Locks the pool, so that all earlier decisions about the pool's accounts are committed. */
export function lockAccountPool(tx: Transaction, organizationId: string, pool: string): Promise<void> {
  return acquireAdvisoryLock(tx, 'account pool', organizationId, pool);
}

/**
 * Chooses an account of each pool that the job requests. Locks the pools first. Waiting jobs get an account by
 * priority, then by age: accounts are left for the waiting jobs that are ahead of this job and could start now.
 */
export async function chooseAccounts(
  tx: Transaction,
  organizationId: string,
  { id, accounts }: { id: string; accounts: AccountRequest[] },
): Promise<Choice> {
  // The pools are sorted: all transactions lock them in the same order, so they cannot deadlock.
  for (const pool of accounts.map((request) => request.pool).sort()) await lockAccountPool(tx, organizationId, pool);
  const chosen = await tx.query<{ pool: string; account: string | null; vaultKeys: Record<string, string> }>(
    `SELECT u.pool, chosen.name AS account, chosen.vault_keys
     FROM account_use u
     CROSS JOIN LATERAL (
       SELECT count(*)::int AS count
       FROM account_use o JOIN job w ON w.id = o.job_id
       WHERE o.organization_id = u.organization_id AND o.pool = u.pool AND o.since IS NULL
         AND (-o.priority, o.queued_at, o.job_id) < (-u.priority, u.queued_at, u.job_id)
         AND w.status = 'queued' AND w.waiting_reason IN ('account_busy', 'concurrency_key')
         AND w.cancel_requested_at IS NULL
         AND ${hasIdleAgentSql('w')} AND NOT ${waitsForAccountSql('w')} AND NOT ${waitsForKeySql('w')}) ahead
     LEFT JOIN LATERAL (
       SELECT a.name, a.vault_keys FROM ${freeAccountsSql('u.organization_id', 'u.pool')}
       ORDER BY ${unusedLongestSql} LIMIT 1) chosen ON ahead.count < ${freeAccountCountSql('u.organization_id', 'u.pool')}
     WHERE u.job_id = $1 AND u.since IS NULL ORDER BY u.pool`,
    [id],
    'choose_accounts',
  );
  const busy = chosen.find(({ account }) => account === null);
  if (busy) return { busyPool: busy.pool };
  return {
    accounts: accounts.map(({ pool, as }) => {
      const { account, vaultKeys } = chosen.find((each) => each.pool === pool)!;
      return { pool, as, account: account!, vaultKeys };
    }),
  };
}

/** Assigns the chosen accounts to the job when it is dispatched. */
export function assignAccountsToJob(tx: Transaction, jobId: string, accounts: readonly Borrowed[]): void {
  // Times are cut to milliseconds, as in responses of the API. The clock is read after the lock of the pool, so the
  // times of two uses of an account never overlap.
  tx.deferStatement(
    `UPDATE account_use u SET account = chosen.account, since = date_trunc('milliseconds', muster_clock())
     FROM unnest($2::text[], $3::text[]) AS chosen (pool, account) WHERE u.job_id = $1 AND u.pool = chosen.pool`,
    [jobId, accounts.map(({ pool }) => pool), accounts.map(({ account }) => account)],
    'hold_accounts',
  );
}

/** Returns the environment variables of the accounts, each with the vault key of its value. */
export function buildAccountVariables(accounts: readonly Borrowed[]): Record<string, string> {
  return Object.fromEntries(
    accounts.flatMap(({ as, vaultKeys }) =>
      Object.entries(vaultKeys).map(([name, key]) => [`${as}_${name.toUpperCase()}`, key]),
    ),
  );
}

/** Returns the pool of each account. The keys are the names by which the script knows the accounts. */
export function getPoolsOfAccounts(borrowed: readonly Borrowed[]): Record<string, string> {
  return Object.fromEntries(borrowed.map(({ as, pool }) => [as, pool]));
}

/**
 * Takes back the accounts of jobs that have ended or will not start. For each pool that has a free account now,
 * enqueues the agent of the first waiting job.
 */
export async function releaseAccounts(tx: Transaction, organizationId: string, jobIds: string[]): Promise<void> {
  const released = await tx.query<{ pool: string }>(
    `WITH waiting AS (DELETE FROM account_use WHERE job_id = ANY($1) AND since IS NULL),
     released AS (
       UPDATE account_use SET until = GREATEST(since, date_trunc('milliseconds', muster_clock()))
       WHERE job_id = ANY($1) AND since IS NOT NULL AND until IS NULL RETURNING pool, account)
     SELECT pool FROM released
     UNION SELECT a.pool FROM released JOIN account a ON a.organization_id = $2 AND a.name = released.account`,
    [jobIds, organizationId],
    'release_accounts',
  );
  // A job that waited only for an account may have made the jobs after it wait too, so these are placed again.
  if (released.length === 0) enqueuePlacementOfJobs(tx, organizationId);
  await enqueueJobsWaitingForPools(
    tx,
    organizationId,
    released.map(({ pool }) => pool),
  );
}

/**
 * For each pool, enqueues the agents of as many waiting jobs as can get an account now. The jobs that have no agent are
 * placed by a message of their own.
 */
export async function enqueueJobsWaitingForPools(
  tx: Transaction,
  organizationId: string,
  pools: string[],
): Promise<void> {
  if (pools.length === 0) return;
  const firsts = await tx.query<Pick<PlacedJob, 'agentId'>>(
    `SELECT DISTINCT first.agent_id FROM unnest($2::text[]) AS p(pool) CROSS JOIN LATERAL (${agentsOfFirstWaitingJobsSql('$1', 'p.pool')}) first`,
    [organizationId, pools],
    'first_for_accounts',
  );
  await tx.enqueue(...firsts.map(toDispatchMessage));
  enqueuePlacementOfJobs(tx, organizationId);
}

/** SQL: the agents of the first jobs that wait for the pool and can start now, as many as runs can get an account. */
const agentsOfFirstWaitingJobsSql = (organization: string, pool: string) => `
  SELECT u.agent_id FROM account_use u JOIN job w ON w.id = u.job_id JOIN agent a ON a.id = u.agent_id
  JOIN organization_settings s ON s.organization_id = u.organization_id
  WHERE u.organization_id = ${organization} AND u.pool = ${pool} AND u.since IS NULL AND u.until IS NULL
    AND w.status = 'queued' AND w.waiting_reason = 'account_busy' AND w.cancel_requested_at IS NULL
    AND w.not_before <= muster_now()
    AND a.drain IS NULL AND a.current_job_id IS NULL AND a.autopilot_session_id IS NULL
    AND a.clearing_command_id IS NULL
    AND (a.status = 'online' OR (a.status IN ('stopped', 'offline') AND s.vm_auto_wake_on_job))
    AND NOT ${waitsForKeySql('w')} AND NOT ${waitsForAccountSql('w')}
  ORDER BY u.priority DESC, u.queued_at, u.job_id LIMIT ${freeAccountCountSql(organization, pool)}`;

const toDispatchMessage = ({ agentId }: { agentId: string }) => ({
  queue: 'dispatch' as const,
  name: 'dispatch-agent' as const,
  payload: { agentId },
});

/**
 * Enqueues the agents of jobs that wait for an account although an account is free: its rest has ended, or the machine
 * of the run that had the account was cleared. The sweep of placements starts such jobs without an agent.
 */
export async function enqueueJobsWithFreeAccounts(database: Database): Promise<{ offered: number }> {
  const waiting = await database.query<{ organizationId: string; agentId: string }>(
    'system',
    `SELECT DISTINCT first.agent_id, p.organization_id
     FROM (SELECT DISTINCT organization_id, pool FROM account_use WHERE since IS NULL AND until IS NULL) p
     CROSS JOIN LATERAL (${agentsOfFirstWaitingJobsSql('p.organization_id', 'p.pool')}) first LIMIT 1000`,
    [],
    'offer_accounts',
  );
  for (const { organizationId, agentId } of waiting) {
    await database.transaction({ organizationId }, (tx) => tx.enqueue(toDispatchMessage({ agentId })));
  }
  return { offered: waiting.length };
}

/**
 * Sets the waiting reason `account_busy` for the agent's jobs that wait for an account and not for a concurrency key.
 * `also` is the id of a job that waits even if an account is free now, because the jobs ahead of it will get it. Skips
 * a job that another transaction has locked, as `setWaitingReasonOfJobs` does.
 */
export function markJobsWaitingForAccounts(tx: Transaction, agentId: string, also: string | null = null): void {
  tx.deferStatement(
    `UPDATE job SET waiting_reason = 'account_busy', waiting_since = muster_now()
     WHERE id = ANY(ARRAY(
       SELECT id FROM job
       WHERE id IN (SELECT job_id FROM account_use WHERE agent_id = $1 AND since IS NULL)
         AND status = 'queued' AND not_before <= muster_now()
         AND (id = $2 OR (${waitsForAccountSql('job')} AND NOT ${waitsForKeySql('job')}))
         AND waiting_reason IS DISTINCT FROM 'account_busy' FOR UPDATE OF job SKIP LOCKED))`,
    [agentId, also],
    'mark_borrowing',
  );
}
