import { type AccountFailure, AppError, type CallbackAnswer, type FailAccountBody } from '@muster/contracts';
import type { AccountEntity, Database, JobEntity, PlacedJob } from '@muster/database';
import { appendTimeline } from '@muster/timeline';
import { emitEvent } from '@muster/webhooks';
import { buildJobEntry } from '../launch/insert-job';
import { lockJobBeforeRead } from '../lists/job-row';
import type { Reporter } from '../reports/reporter';
import { lockAccountPool } from './borrow-accounts';

interface Used extends Pick<PlacedJob, 'agentId'> {
  account: string;
  /** The pool that the account belongs to now; null if the account was deleted. */
  currentPool: string | null;
  status: JobEntity['status'] | null;
}

/**
 * Sets aside the run's current or past account of the pool, so that no run gets the account until an admin puts it
 * back. Repeated reports of a run change nothing, so a report that is sent again does not set aside an account that was
 * put back in between.
 */
export function setAsideAccountOfRun(
  database: Database,
  { organizationId, agentId }: Reporter,
  { jobId, pool, reason, message }: { jobId: string; pool: string } & FailAccountBody,
): Promise<CallbackAnswer> {
  return database.transaction({ organizationId }, async (tx) => {
    lockJobBeforeRead(tx, organizationId, jobId);
    const [used] = await tx.query<Used>(
      `SELECT u.account, u.agent_id, a.pool AS current_pool,
              (SELECT j.status FROM job j WHERE j.id = u.job_id) AS status
       FROM account_use u LEFT JOIN account a ON a.organization_id = u.organization_id AND a.name = u.account
       WHERE u.job_id = $1 AND u.pool = $2 AND u.organization_id = $3 AND u.since IS NOT NULL
         AND ($4::uuid IS NULL OR u.agent_id = $4)`,
      [jobId, pool, organizationId, agentId],
      'used_account',
    );
    if (!used)
      throw new AppError('not_found', {
        detail: 'The run never had an account of this pool. Check the name of the pool.',
      });
    // Waits for a dispatch that is choosing this account, so that no run gets the account after this report.
    if (used.currentPool !== null) await lockAccountPool(tx, organizationId, used.currentPool);
    const text = message?.trim() ? message : null;
    const [setAside] = await tx.query<Pick<AccountEntity, 'id'> & { since: Date }>(
      `WITH failed AS (
         UPDATE account_use SET failed_at = muster_now()
         WHERE job_id = $1 AND pool = $2 AND failed_at IS NULL RETURNING organization_id, account)
       UPDATE account a SET set_aside_reason = $3, set_aside_message = $4, set_aside_since = muster_now(),
         set_aside_job_id = $1
       FROM failed WHERE a.organization_id = failed.organization_id AND a.name = failed.account
         AND a.set_aside_since IS NULL
       RETURNING a.id, a.set_aside_since AS since`,
      [jobId, pool, reason, text],
      'set_aside_account',
    );
    if (!setAside) return { accepted: false, reason: 'not_newer' };
    const { account: name, status } = used;
    const { id, since } = setAside;
    if (status) {
      appendTimeline(tx, { organizationId, agentId: used.agentId }, [
        buildJobEntry({
          jobId,
          status,
          previousStatus: status,
          source: 'worker',
          level: 'warn',
          message: `the account ${name} was set aside: ${text ?? reasonTexts[reason]}`,
        }),
      ]);
    }
    const details = {
      status: 'set_aside' as const,
      name,
      pool,
      reason,
      message: text,
      since: since.toISOString(),
      jobId,
    };
    emitEvent(tx, { organizationId, type: 'account.set_aside', subjects: [{ id, details }] });
    return { accepted: true };
  });
}

const reasonTexts: Record<AccountFailure, string> = {
  locked: 'it is locked',
  expired: 'its password has expired',
  other: 'it cannot be used',
};
