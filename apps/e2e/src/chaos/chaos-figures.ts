import type { Database } from '@muster/database';
import { findUnequalCounters } from '@muster/pricing';
import type { FaultFixture } from '../fault-fixture';
import { buildMoneyFaultQueries, verifyRollups } from './chaos-money';

/** Counts at the end of the test. Every count in `faults` must be 0. */
export interface Figures {
  jobs: number;
  attempts: number;
  completed: number;
  failed: number;
  cancelled: number;
  /** Failed jobs whose run could not continue after a kill. */
  lost: number;
  starts: number;
  usageEvents: number;
  logLines: number;
  timelineEntries: number;
  /** Longest time in seconds from dispatch to the end, of jobs that were not cancelled. */
  slowestRun: number;
  /** Longest time in seconds from the cancel request to the end. */
  slowestCancel: number;
  faults: Record<string, number>;
}

const ended = `status IN ('completed', 'failed', 'cancelled')`;
/** SQL condition: the job's script ended by itself, so it had printed all its lines before. */
const endedByScript = `(j.status = 'completed' OR j.error LIKE '%exit code 7%')`;

/** Excludes the probe messages of the queues of `feedback-sync`, because that app does not run in this test. */
const messages = `SELECT count(*) FROM outbox WHERE queue <> 'feedback'`;

/** Whether all work is done: no job is open and the outbox contains no message. */
export async function isServiceQuiet(fixture: FaultFixture): Promise<boolean> {
  const [row] = await fixture
    .query<{ open: number }>(`SELECT (SELECT count(*) FROM job WHERE NOT ${ended})::int + (${messages})::int AS open`)
    .catch(() => []);
  return row?.open === 0;
}

/** One start of a job's script; `at` is in seconds since 1970. */
export interface Start {
  jobId: string;
  at: number;
}

export async function countFigures(fixture: FaultFixture, starts: Start[]): Promise<Figures> {
  const rows = starts.map(({ jobId, at }) => `('${jobId}'::uuid, to_timestamp(${at}))`).join(', ');
  const started = `(VALUES ${rows || '(NULL::uuid, now())'}) AS started (job_id, at)`;
  const countRows = async (sql: string) => (await fixture.query<{ n: number }>(`SELECT (${sql})::int AS n`))[0]!.n;
  const countEach = async (counts: Record<string, string>) =>
    Object.fromEntries(
      await Promise.all(Object.entries(counts).map(async ([name, sql]) => [name, await countRows(sql)] as const)),
    );
  const totals = await countEach({
    jobs: 'SELECT count(*) FROM job WHERE retry_of IS NULL',
    attempts: 'SELECT count(*) FROM job',
    completed: `SELECT count(*) FROM job WHERE status = 'completed'`,
    failed: `SELECT count(*) FROM job WHERE status = 'failed'`,
    cancelled: `SELECT count(*) FROM job WHERE status = 'cancelled'`,
    lost: `SELECT count(*) FROM job j WHERE status = 'failed' AND NOT ${endedByScript}`,
    usageEvents: `SELECT count(*) FROM usage_event WHERE kind = 'run'`,
    logLines: `SELECT count(*) FROM timeline_entry WHERE kind = 'execution'`,
    timelineEntries: 'SELECT count(*) FROM timeline_entry',
    slowestRun: `SELECT max(EXTRACT(epoch FROM finished_at - dispatched_at)) FROM job WHERE cancel_requested_at IS NULL`,
    slowestCancel: 'SELECT max(EXTRACT(epoch FROM finished_at - cancel_requested_at)) FROM job',
  });
  const faults = await countEach({
    'jobs not finished': `SELECT count(*) FROM job WHERE NOT ${ended}`,
    'jobs without exactly one end': `SELECT count(*) FROM job j WHERE 1 <>
      (SELECT count(*) FROM chaos_move m WHERE m.job_id = j.id AND m.is_now IN ('completed', 'failed', 'cancelled'))`,
    'jobs changed after their end': `SELECT count(*) FROM chaos_move WHERE was IN ('completed', 'failed', 'cancelled')`,
    'jobs without exactly one end in the timeline': `SELECT count(*) FROM job j WHERE 1 <> (
      SELECT count(*) FROM timeline_entry t WHERE t.job_id = j.id AND t.kind = 'job'
        AND t.data->>'status' IN ('completed', 'failed', 'cancelled')
        AND t.data->>'status' IS DISTINCT FROM t.data->>'previousStatus')`,
    'jobs without exactly one usage event': `SELECT count(*) FROM job j WHERE 1 <>
      (SELECT count(*) FROM usage_event u WHERE u.job_id = j.id AND u.kind = 'run' AND u.outcome = j.status)`,
    'jobs without exactly one cost': `SELECT count(*) FROM job j WHERE 1 <>
      (SELECT count(*) FROM run_cost r WHERE r.job_id = j.id)`,
    'completed jobs that never started': `SELECT count(*) FROM job WHERE status = 'completed'
      AND id NOT IN (SELECT job_id FROM ${started})`,
    'attempts started twice': `SELECT count(*) FROM (
      SELECT 1 FROM ${started} GROUP BY job_id HAVING count(*) > 1) twice`,
    'jobs started after their end': `SELECT count(*) FROM ${started} JOIN job j ON j.id = started.job_id
      WHERE started.at > j.finished_at`,
    'duplicate log lines': `SELECT count(*) FROM (
      SELECT 1 FROM timeline_entry WHERE kind = 'execution' GROUP BY job_id, log_seq HAVING count(*) > 1) d`,
    'log lines with another text': `SELECT count(*) FROM timeline_entry t WHERE kind = 'execution' AND level = 'info'
      AND message <> 'line ' || log_seq || ' of ' || job_id`,
    'jobs with lines missing': `SELECT count(*) FROM job j WHERE ${endedByScript} AND
      (SELECT array_agg(t.log_seq ORDER BY t.log_seq) FROM timeline_entry t WHERE t.job_id = j.id AND t.kind = 'execution')
      IS DISTINCT FROM (SELECT array_agg(n) FROM generate_series(1, (j.variables->>'CHAOS_LINES')::bigint) n)`,
    'jobs with gaps in their lines': `SELECT count(*) FROM (
      SELECT 1 FROM timeline_entry t JOIN agent a ON a.id = t.agent_id
      WHERE t.kind = 'execution' AND a.name LIKE 'worker %' GROUP BY t.job_id HAVING count(*) <> max(t.log_seq)) g`,
    'jobs without their steps': `SELECT count(*) FROM job j WHERE ${endedByScript} AND 2 <>
      (SELECT count(*) FROM job_step s WHERE s.job_id = j.id AND s.status = 'passed')`,
    'jobs without their claim': `SELECT count(*) FROM job j WHERE ${endedByScript} AND
      (j.claims_attempted <> 1 OR 1 <> (SELECT count(*) FROM claim_outcome c WHERE c.job_id = j.id))`,
    'jobs without their AI call': `SELECT count(*) FROM job j WHERE ${endedByScript} AND 1 <>
      (SELECT count(*) FROM ai_usage a WHERE a.job_id = j.id)`,
    'timelines with holes': `SELECT count(*) FROM timeline_head h WHERE (h.last_seq, h.last_seq, h.last_seq) IS DISTINCT FROM
      (SELECT (count(*), count(DISTINCT seq), max(seq)) FROM timeline_entry t WHERE t.agent_id = h.agent_id)`,
    'messages left': messages,
    'agents still assigned to a job': 'SELECT count(*) FROM agent WHERE current_job_id IS NOT NULL',
    'run commands still pending': `SELECT count(*) FROM agent_command WHERE kind = 'run' AND status = 'pending'`,
    'retries beyond the policy': `SELECT count(*) FROM job WHERE attempt > max_retries + 1`,
    ...buildMoneyFaultQueries(endedByScript),
    'failed jobs without their retry': `SELECT count(*) FROM job j WHERE status = 'failed' AND attempt <= max_retries
      AND 1 <> (SELECT count(*) FROM job r WHERE r.retry_of = j.id)`,
  });
  const querySystem = (_scope: unknown, sql: string, values: unknown[]) => fixture.query(sql, values);
  const database = { query: querySystem } as unknown as Database;
  return {
    ...(totals as unknown as Omit<Figures, 'starts' | 'faults'>),
    starts: starts.length,
    faults: {
      ...faults,
      'rollups that differ from their claims': await verifyRollups(fixture),
      'counters that differ from their events': (await findUnequalCounters(database)).length,
    },
  };
}
