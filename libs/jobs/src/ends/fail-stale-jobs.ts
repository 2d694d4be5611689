import { appendTimeline } from '@muster/timeline';
import { type Database, type PlacedJob, requireReleasedRecovery, type Transaction } from '@muster/database';
import { firstCursor, Round, sweepRows, type TimedCursor } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';
import { decideStaleJob, type StaleFacts, type StaleLimits } from './decide-stale-job';
import { failRunAndKillProcesses } from './give-up-run';
import { buildJobEntry } from '../launch/insert-job';

export interface StaleOptions extends StaleLimits {
  /** Time of the check; by default the current time of the database. */
  now?: Date;
  limit?: number;
}

export interface StaleReport {
  scanned: number;
  failed: string[];
  /** Number of failed runs whose agents received a command to kill the remaining processes. */
  killed: number;
  retried: number;
  stalled: number;
  errors: number;
}

/**
 * Fails runs that exceed their time limit and jobs without reports, and reports runs without progress. With several
 * replicas, each job fails once.
 */
export async function failStaleJobs(
  database: Database,
  input: StaleOptions,
  round = new Round('fail stale jobs'),
): Promise<StaleReport> {
  const { limit = 500, now = database.now() } = input;
  const recovery = await requireReleasedRecovery(database);
  const options = { ...input, now, ...(recovery ? { restoredAt: recovery.restoredAt } : {}) };
  const report: StaleReport = { scanned: 0, failed: [], killed: 0, retried: 0, stalled: 0, errors: 0 };
  const before = round.failed;
  for (const [name, candidates] of Object.entries({ runs: findStaleRuns, untouched: findJobsThatNeverStarted })) {
    const { looked } = await sweepRows<TimedCursor, never>(round, {
      name,
      outcomes: [],
      limit,
      atOnce: 8,
      candidates: (after, count) => candidates(database, { ...options, limit: count, after: after ?? firstCursor }),
      settle: async ({ id }) => {
        const done = await database.transaction('system', (tx) => failJobIfStale(tx, id, options));
        if (done.failed) report.failed.push(id);
        if (done.killed) report.killed += 1;
        if (done.retried) report.retried += 1;
        if (done.stalled) report.stalled += 1;
        return null;
      },
      rowOf: ({ id }) => `job ${id}`,
    });
    report.scanned += looked;
  }
  report.errors = round.failed - before;
  return report;
}

type Decided = StaleOptions & { now: Date };

interface Search extends Decided {
  limit: number;
  after: TimedCursor;
}

/** Selects stale running jobs by their start time. There are at most as many running jobs as machines. */
export const staleRunsSql = `
  SELECT id, started_at::text AS at FROM job
  WHERE status = 'running' AND (started_at, id) > ($1::timestamptz, $2::uuid)
    AND started_at <= $3::timestamptz - interval '1 second'
    AND (started_at <= $3::timestamptz - max_runtime_ms * interval '1 millisecond'
         OR COALESCE(last_heartbeat_at, started_at) <= $3::timestamptz - $4 * interval '1 millisecond'
         OR ($5 > 0 AND COALESCE(last_progress_at, started_at) <= $3::timestamptz - $5 * interval '1 millisecond'))
  ORDER BY started_at, id LIMIT $6`;

function findStaleRuns(database: Database, search: Search): Promise<TimedCursor[]> {
  const { after, now, lostAfterMs, stalledAfterMs, limit } = search;
  return database.query<TimedCursor & object>(
    'system',
    staleRunsSql,
    [after.at, after.id, now, lostAfterMs, stalledAfterMs, limit],
    'stale_runs',
  );
}

/**
 * Selects jobs that their agent acknowledged but did not start. An unacknowledged job is left out, because its command
 * is delivered again. Reads all agents, because no index contains the current job, which each run changes.
 */
export const untouchedJobsSql = `
  SELECT j.id, a.dispatched_at::text AS at FROM agent a JOIN job j ON j.id = a.current_job_id
  WHERE a.current_job_id IS NOT NULL AND (a.dispatched_at, j.id) > ($1::timestamptz, $2::uuid)
    AND a.dispatched_at <= $3::timestamptz - $4 * interval '1 millisecond' AND j.status = 'queued'
    AND EXISTS (SELECT FROM agent_command c
                WHERE c.id = j.command_id AND c.taken_at <= $3::timestamptz - $4 * interval '1 millisecond')
  ORDER BY a.dispatched_at, j.id LIMIT $5`;

function findJobsThatNeverStarted(
  database: Database,
  { after, now, lostAfterMs, limit }: Search,
): Promise<TimedCursor[]> {
  return database.query<TimedCursor & object>(
    'system',
    untouchedJobsSql,
    [after.at, after.id, now, lostAfterMs, limit],
    'untouched_jobs',
  );
}

interface Locked extends StaleFacts, Pick<PlacedJob, 'organizationId' | 'agentId' | 'lastProgressAt'> {
  cancelling: boolean;
  lastLogAt: Date | null;
}

type Outcome = { failed?: boolean; killed?: boolean; retried?: boolean; stalled?: boolean };

/** Reads the job again under its lock, because it may have reported since. Skips it if another replica processes it. */
async function failJobIfStale(tx: Transaction, id: string, options: Decided): Promise<Outcome> {
  const { now } = options;
  const job = await lockStaleJob(tx, id);
  if (!job) return {};
  const { organizationId, agentId, status } = job;
  const decision = decideStaleJob(job, options, now);
  if (decision.action === 'report') {
    await tx.execute('UPDATE job SET stalled_at = $2 WHERE id = $1', [id, now]);
    appendTimeline(tx, { organizationId, agentId }, [
      buildJobEntry({
        jobId: id,
        status,
        previousStatus: status,
        source: 'watchdog',
        level: 'warn',
        message: `stalled: ${decision.reason}`,
        data: { stalled: true },
      }),
    ]);
    emitEvent(tx, { organizationId, type: 'job.stalled', subjects: [{ id, details: { status } }] });
    return { stalled: true };
  }
  if (decision.action === 'none') {
    // A log line counts as progress. Storing its time as the last progress keeps the job out of the sweep until the
    // stall limit has passed again.
    if (job.lastLogAt && (!job.lastProgressAt || job.lastLogAt > job.lastProgressAt)) {
      await tx.execute('UPDATE job SET last_progress_at = $2 WHERE id = $1', [id, job.lastLogAt]);
    }
    return {};
  }
  return failRunAndKillProcesses(tx, {
    organizationId,
    jobId: id,
    agentId,
    agentStatus: job.agentStatus,
    source: 'watchdog',
    reason: decision.reason,
    code: decision.code,
    // A run that was being cancelled is not retried, nor a run of a restored backup, whose work may have been done
    // after the backup.
    retries: !job.cancelling && decision.code !== 'lost_in_recovery',
    now,
  });
}

async function lockStaleJob(tx: Transaction, id: string): Promise<Locked | undefined> {
  const [job] = await tx.query<Locked>(
    // eslint-disable-next-line muster/one-clock -- Timeline entries are dated by the database.
    `SELECT j.organization_id, j.agent_id, j.status, j.started_at, j.max_runtime_ms, j.stalled_at,
            j.cancel_requested_at IS NOT NULL AS cancelling, j.last_progress_at, l.at AS last_log_at,
            EXISTS (SELECT FROM question q WHERE q.job_id = j.id AND q.status = 'open') AS is_asking,
            a.status AS agent_status, s.fail_stalled_runs AS fail_stalled,
            GREATEST(j.started_at, j.last_heartbeat_at, j.last_progress_at, c.taken_at, l.at) AS last_report_at,
            GREATEST(j.started_at, j.last_progress_at, l.at) AS progress_at
     FROM job j
     JOIN agent a ON a.id = j.agent_id
     JOIN organization_settings s ON s.organization_id = j.organization_id
     LEFT JOIN agent_command c ON c.id = j.command_id
     LEFT JOIN LATERAL (
       SELECT t.recorded_at + (muster_now() - now()) AS at FROM timeline_entry t
       WHERE t.job_id = j.id AND t.kind = 'execution' ORDER BY t.seq DESC LIMIT 1) l ON true
     WHERE j.id = $1 AND (j.status = 'running' OR (j.status = 'queued' AND c.taken_at IS NOT NULL))
     FOR UPDATE OF j SKIP LOCKED`,
    [id],
    'stale_job',
  );
  return job;
}
