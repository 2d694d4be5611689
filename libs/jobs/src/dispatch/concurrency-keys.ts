import type { ConcurrencyKey } from '@muster/contracts';
import { type JobEntity, acquireAdvisoryLock, type PlacedJob, type Transaction } from '@muster/database';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { hasIdleAgentSql } from '../placement/fitting-agents';
import type { FullKey } from './decide-start';

/**
 * SQL for the row `l` of a job that waits for a key. `held`: how many runs hold the key. `most`: how many runs may hold
 * it, by the smallest of the limits that the job, the holders and the organization specify.
 */
const holders = `(
  SELECT count(*)::int AS held, LEAST(l.most, min(h.most), (
    SELECT c."limit" FROM concurrency_limit c WHERE c.organization_id = l.organization_id AND c.key = l.key)) AS most
  FROM concurrency_lease h WHERE h.organization_id = l.organization_id AND h.key = l.key AND h.since IS NOT NULL)`;

/** SQL condition: one of the job's keys is full. The check reads no lease if the job has no keys. */
export const waitsForKeySql = (job: string) => `(${job}.concurrency_keys IS NOT NULL AND EXISTS (
  SELECT FROM concurrency_lease l CROSS JOIN LATERAL ${holders} k
  WHERE l.job_id = ${job}.id AND l.since IS NULL AND k.held >= k.most))`;

/**
 * SQL over `job j`: the key that the job waits for, the limit of this key and the runs that hold it, as JSON. Null if
 * the job does not wait for a key.
 */
export const waitingForKey = `(CASE WHEN j.waiting_reason = 'concurrency_key' THEN (
  SELECT json_build_object('key', l.key, 'limit', k.most, 'holders', ARRAY(
    SELECT h.job_id FROM concurrency_lease h
    WHERE h.organization_id = l.organization_id AND h.key = l.key AND h.since IS NOT NULL
    ORDER BY h.since, h.job_id))
  FROM concurrency_lease l CROSS JOIN LATERAL ${holders} k
  WHERE l.job_id = j.id ORDER BY k.held >= k.most DESC, l.key LIMIT 1) END)`;

/**
 * A CTE for statements that insert jobs; it follows their CTE `job` and inserts a waiting lease for each key of each
 * job.
 */
export const insertWaitingKeys = `key AS (
  INSERT INTO concurrency_lease (job_id, organization_id, agent_id, key, most, priority, queued_at)
  SELECT job.id, job.organization_id, job.agent_id, k.key, k."limit", job.priority, job.queued_at
  FROM job CROSS JOIN jsonb_to_recordset(job.concurrency_keys) AS k(key text, "limit" integer))`;

/**
 * Returns the job's full keys. Locks each key first, so that all earlier decisions about the key are committed. Waiting
 * jobs get a key by priority, then by age; a waiting job that is ahead of this job and could start now counts as a
 * holder.
 */
export async function lockAndFindFullKeys(
  tx: Transaction,
  organizationId: string,
  { id, concurrencyKeys }: Pick<JobEntity, 'id'> & { concurrencyKeys: Required<ConcurrencyKey>[] },
): Promise<FullKey[]> {
  const keys = concurrencyKeys.map(({ key }) => key).sort();
  // All transactions lock keys in the same order, so they cannot deadlock.
  for (const key of keys) await acquireAdvisoryLock(tx, 'concurrency key', organizationId, key);
  return tx.query<FullKey>(
    `SELECT l.key, k.most, k.held + ahead.count AS held
     FROM concurrency_lease l CROSS JOIN LATERAL ${holders} k
     CROSS JOIN LATERAL (
       SELECT count(*)::int AS count
       FROM concurrency_lease o JOIN job w ON w.id = o.job_id
       WHERE o.organization_id = l.organization_id AND o.key = l.key AND o.since IS NULL
         AND (-o.priority, o.queued_at, o.job_id) < (-l.priority, l.queued_at, l.job_id)
         AND w.status = 'queued' AND w.waiting_reason IN ('concurrency_key', 'account_busy')
         AND w.cancel_requested_at IS NULL
         AND ${hasIdleAgentSql('w')} AND NOT ${waitsForKeySql('w')} AND NOT ${waitsForAccountSql('w')}) ahead
     WHERE l.job_id = $1 AND k.held + ahead.count >= k.most
     ORDER BY l.key`,
    [id],
    'full_keys',
  );
}

/** Returns those of the keys that have no room for a run with these limits now. Does not lock the keys. */
export function findFullKeys(
  tx: Transaction,
  organizationId: string,
  keys: readonly Required<ConcurrencyKey>[],
): Promise<FullKey[]> {
  return tx.query<FullKey>(
    `SELECT l.key, k.most, k.held
     FROM (SELECT $1::uuid AS organization_id, u.key, u.most FROM unnest($2::text[], $3::int[]) AS u (key, most)) l
     CROSS JOIN LATERAL ${holders} k
     WHERE k.held >= k.most ORDER BY l.key`,
    [organizationId, keys.map(({ key }) => key), keys.map(({ limit }) => limit)],
    'preview_keys',
  );
}

/** Turns the job's waiting leases into held ones when the job is dispatched. */
export function assignConcurrencyKeys(tx: Transaction, jobId: string): void {
  tx.deferStatement('UPDATE concurrency_lease SET since = muster_now() WHERE job_id = $1', [jobId], 'hold_keys');
}

/**
 * Deletes the leases of jobs that have ended or will not start. For each released key, enqueues the agent of the first
 * waiting job.
 */
export async function releaseConcurrencyKeys(tx: Transaction, organizationId: string, jobIds: string[]): Promise<void> {
  const released = await tx.query<{ key: string }>(
    `WITH released AS (DELETE FROM concurrency_lease WHERE job_id = ANY($1) RETURNING key, since)
     SELECT DISTINCT key FROM released WHERE since IS NOT NULL`,
    [jobIds],
    'release_keys',
  );
  // A job that only waited for the key has kept it from the jobs behind it, too.
  if (released.length === 0) enqueuePlacementOfJobs(tx, organizationId);
  await enqueueFirstWaitingJobs(
    tx,
    organizationId,
    released.map(({ key }) => key),
  );
}

/**
 * For each key, enqueues the agents of the first `maxJobs` waiting jobs. Jobs whose agents cannot take a job are
 * skipped. The jobs that have no agent are placed by a message of their own.
 */
export async function enqueueFirstWaitingJobs(
  tx: Transaction,
  organizationId: string,
  keys: string[],
  maxJobs = 1,
): Promise<void> {
  if (keys.length === 0) return;
  const firsts = await tx.query<Pick<PlacedJob, 'agentId'>>(
    `SELECT DISTINCT first.agent_id FROM unnest($2::text[]) AS k(key) CROSS JOIN LATERAL (
       SELECT l.agent_id FROM concurrency_lease l JOIN job w ON w.id = l.job_id JOIN agent a ON a.id = l.agent_id
       JOIN organization_settings s ON s.organization_id = l.organization_id
       WHERE l.organization_id = $1 AND l.key = k.key AND l.since IS NULL
         AND w.status = 'queued' AND w.cancel_requested_at IS NULL AND w.not_before <= muster_now()
         AND a.drain IS NULL AND a.current_job_id IS NULL AND a.autopilot_session_id IS NULL
         AND a.clearing_command_id IS NULL
         AND (a.status = 'online' OR (a.status IN ('stopped', 'offline') AND s.vm_auto_wake_on_job))
       ORDER BY l.priority DESC, l.queued_at, l.job_id LIMIT $3) first`,
    [organizationId, keys, maxJobs],
    'first_for_keys',
  );
  await tx.enqueue(
    ...firsts.map(({ agentId }) => ({
      queue: 'dispatch' as const,
      name: 'dispatch-agent' as const,
      payload: { agentId },
    })),
  );
  enqueuePlacementOfJobs(tx, organizationId);
}

/**
 * Sets the waiting reason `concurrency_key` for the agent's jobs that wait for a key. `also` is the id of a job that
 * waits even if its key is not full now, because the jobs ahead of it will get the key. Skips a job that another
 * transaction has locked, as `setWaitingReasonOfJobs` does.
 */
export function markJobsWaitingForKeys(tx: Transaction, agentId: string, also: string | null = null): void {
  tx.deferStatement(
    `UPDATE job SET waiting_reason = 'concurrency_key', waiting_since = muster_now()
     WHERE id = ANY(ARRAY(
       SELECT id FROM job
       WHERE id IN (SELECT job_id FROM concurrency_lease WHERE agent_id = $1 AND since IS NULL)
         AND status = 'queued' AND not_before <= muster_now() AND (id = $2 OR ${waitsForKeySql('job')})
         AND waiting_reason IS DISTINCT FROM 'concurrency_key' FOR UPDATE OF job SKIP LOCKED))`,
    [agentId, also],
    'mark_keyed',
  );
}
