import { type MicroUsd, type WaitingReason, waitingReasons } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';

export interface MeasuredRuns {
  running: number;
  /** Queued runs by waiting reason. A run without a waiting reason is counted as `nothing`; it is about to start. */
  waiting: Record<WaitingReason | 'nothing', { count: number; ageSeconds: number }>;
  /** Queued runs without an agent, which any agent with certain labels can take. */
  unplaced: { count: number; ageSeconds: number };
  reservedMicros: MicroUsd;
  /** Number of agents that are still assigned to a run that ended more than a minute ago. */
  heldMachines: number;
  /** Number of runs that are still running although their run command ended more than five minutes ago. */
  unapplied: number;
}

interface WaitingRow extends Pick<JobEntity, 'waitingReason'> {
  count: number;
  ageSeconds: number;
  unplaced: number;
  /** Null if no run without an agent has this waiting reason. */
  unplacedAgeSeconds: number | null;
}

/** Counts the open runs of all organizations, and the rows that contradict the end of a run. */
export async function readRunMetrics(database: Database): Promise<MeasuredRuns> {
  const [waiting, [open], [violations]] = await Promise.all([
    database.query<WaitingRow>(
      'system',
      `SELECT waiting_reason, count(*)::int AS count, count(*) FILTER (WHERE agent_id IS NULL)::int AS unplaced,
              extract(epoch FROM muster_now() - min(COALESCE(waiting_since, GREATEST(queued_at, not_before))))::float8 AS age_seconds,
              extract(epoch FROM muster_now() - min(GREATEST(queued_at, not_before)) FILTER (WHERE agent_id IS NULL))::float8
                AS unplaced_age_seconds
       FROM job WHERE status = 'queued' GROUP BY waiting_reason`,
      [],
      'count_waiting_runs',
    ),
    database.query<Pick<MeasuredRuns, 'running' | 'reservedMicros'>>('system', openRuns, [], 'count_open_runs'),
    database.query<Pick<MeasuredRuns, 'heldMachines' | 'unapplied'>>('system', violationsSql, [], 'count_unequal_runs'),
  ]);
  const getWaitingCount = (reason: WaitingReason | 'nothing') => {
    const row = waiting.find(({ waitingReason }) => (waitingReason ?? 'nothing') === reason);
    return { count: row?.count ?? 0, ageSeconds: Math.max(0, row?.ageSeconds ?? 0) };
  };
  const reasons = [...waitingReasons, 'nothing'] as const;
  return {
    ...open!,
    ...violations!,
    unplaced: {
      count: waiting.reduce((sum, { unplaced }) => sum + unplaced, 0),
      ageSeconds: Math.max(0, ...waiting.map(({ unplacedAgeSeconds }) => unplacedAgeSeconds ?? 0)),
    },
    waiting: Object.fromEntries(reasons.map((reason) => [reason, getWaitingCount(reason)])) as MeasuredRuns['waiting'],
  };
}

const openRuns = `
  SELECT (SELECT count(*)::int FROM job WHERE status = 'running') AS running,
         (SELECT COALESCE(sum(reserved_micros), 0)::bigint FROM job WHERE reserved_micros > 0) AS reserved_micros`;

/** Reads only open runs and the runs that are assigned to agents, so that old runs are not scanned. */
const violationsSql = `
  SELECT (SELECT count(*)::int FROM agent a JOIN job j ON j.id = a.current_job_id
          WHERE j.finished_at < muster_now() - interval '1 minute') AS held_machines,
         (SELECT count(*)::int FROM job j JOIN agent_command c ON c.id = j.command_id
          WHERE j.status = 'running' AND c.status <> 'pending' AND c.finished_at < muster_now() - interval '5 minutes') AS unapplied`;
