import type { AgentEntity, AgentIdleEntity, Database, Transaction } from '@muster/database';
import { nilId, Round, sweepRows, type SweepCounts } from '@muster/platform';
import { computeIdleSpans, type IdleSpan, type RunSpan } from './compute-idle-spans';
import { recordIdleSavings } from './record-idle-savings';

/** Number of days after which idle times and runs are no longer learned from. */
export const habitDays = 35;
/** Maximum number of an agent's runs that one round reads. */
const maxRuns = 500;

/**
 * SQL: the time up to which the service has learned from the agent's runs. The bound for ids is five minutes earlier,
 * because ids contain times of the clocks of several machines.
 */
const since = `COALESCE(
  (SELECT max(COALESCE(i.ended_at, i.began_at)) FROM agent_idle i WHERE i.agent_id = a.id),
  muster_now() - interval '${habitDays} days')`;
const firstIdSince = `
  (lpad(to_hex((extract(epoch FROM from_time.at - interval '5 minutes') * 1000)::bigint), 12, '0')
   || repeat('0', 20))::uuid`;

/**
 * SQL: the end of a run, cut to milliseconds like the stored start of its idle time. With microseconds, each run would
 * seem to end after the start of the idle time that it started.
 */
const endOfRun = `date_trunc('milliseconds', j.finished_at)`;
const isScheduled = 'j.schedule_id IS NOT NULL AND j.attempt = 1';

/**
 * SQL: agents without work that have had runs since the last learned time. Terminated and external agents are left out.
 */
const candidates = `
  SELECT a.id FROM agent a CROSS JOIN LATERAL (SELECT ${since} AS at) from_time
  WHERE a.id > $1 AND a.current_job_id IS NULL AND a.status <> 'terminated' AND a.provider <> 'external'
    AND EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.id > ${firstIdSince}
                  AND ${endOfRun} > from_time.at)
  ORDER BY a.id LIMIT $2`;

/**
 * Records how long machines were idle between their runs, in a loop separate from the runs. Any number of replicas can
 * run this; each idle time is recorded once.
 */
export function learnIdleHabits(
  database: Database,
  round = new Round('learn habits'),
): Promise<SweepCounts<'learned'>> {
  return sweepRows(round, {
    name: 'habits',
    outcomes: ['learned'],
    candidates: (after: Pick<AgentEntity, 'id'> | null, limit) =>
      database.query<Pick<AgentEntity, 'id'>>('system', candidates, [after?.id ?? nilId, limit], 'habit_candidates'),
    settle: ({ id }) =>
      database.transaction('system', async (tx) => {
        const locked = await tx.query(
          'SELECT FROM agent WHERE id = $1 FOR UPDATE SKIP LOCKED',
          [id],
          'lock_idle_agent',
        );
        return locked.length > 0 && (await recordIdleTimesOfAgent(tx, id)) ? 'learned' : null;
      }),
    rowOf: ({ id }) => `agent ${id}`,
  });
}

interface Runs extends Pick<AgentEntity, 'organizationId' | 'status' | 'statusSince'> {
  openSince: AgentIdleEntity['beganAt'] | null;
  runs: { queuedAt: string; finishedAt: string | null; scheduled: boolean }[];
}

/** Records the new idle times of one agent. The caller must have locked the agent. Returns whether there were any. */
export async function recordIdleTimesOfAgent(tx: Transaction, agentId: string): Promise<boolean> {
  const [found] = await tx.query<Runs>(
    `SELECT a.organization_id, a.status, a.status_since,
            (SELECT began_at FROM agent_idle i WHERE i.agent_id = a.id AND i.ended_at IS NULL) AS open_since,
            (SELECT COALESCE(jsonb_agg(jsonb_build_object('queuedAt', queued_at, 'finishedAt', finished_at,
                      'scheduled', scheduled) ORDER BY queued_at, id), '[]')
             FROM (SELECT j.id, j.queued_at, j.finished_at, ${isScheduled} AS scheduled
                   FROM job j WHERE j.agent_id = a.id AND j.id > ${firstIdSince}
                     AND COALESCE(${endOfRun}, 'infinity') > from_time.at
                   ORDER BY j.id DESC LIMIT ${maxRuns}) AS run) AS runs
     FROM agent a CROSS JOIN LATERAL (SELECT ${since} AS at) from_time WHERE a.id = $1`,
    [agentId],
    'runs_to_learn',
  );
  if (!found || found.runs.length === 0) return false;
  const spans = await readIdleSpans(tx, agentId, found);
  for (const span of spans) insertIdleTime(tx, agentId, found, span);
  if (spans.some(({ endedAt }) => endedAt !== null)) await recordIdleSavings(tx, agentId);
  return spans.length > 0;
}

async function readIdleSpans(tx: Transaction, agentId: string, { openSince, runs: found }: Runs): Promise<IdleSpan[]> {
  const runs: RunSpan[] = found.map(({ queuedAt, finishedAt, scheduled }) => ({
    queuedAt: new Date(queuedAt),
    finishedAt: finishedAt === null ? null : new Date(finishedAt),
    scheduled,
  }));
  if (openSince === null || runs.length < maxRuns) return computeIdleSpans(openSince, runs);
  // The machine was busy at every earlier check, so it had more runs than one round reads. The first of these runs
  // ended the open idle time. The idle times between that run and the runs read here are not recorded.
  const [first] = await tx.query<RunSpan>(
    `SELECT j.queued_at, j.finished_at, ${isScheduled} AS scheduled
     FROM agent a CROSS JOIN LATERAL (SELECT ${since} AS at) from_time
     JOIN job j ON j.agent_id = a.id AND j.id > ${firstIdSince} AND COALESCE(${endOfRun}, 'infinity') > from_time.at
     WHERE a.id = $1 ORDER BY j.id LIMIT 1`,
    [agentId],
    'first_run_to_learn',
  );
  return [...computeIdleSpans(openSince, [first!]).slice(0, 1), ...computeIdleSpans(null, runs)];
}

/** Maximum milliseconds of an idle time in which a machine cannot have been switched off and on again. */
const tooShortMs = 60_000;

/**
 * Inserts an idle time or completes an open one. If the idle time was recorded while it was open, the machine's time on
 * was updated whenever the machine was switched on or off. Otherwise the time on is known only for a short idle time,
 * because the machine was on during all of it.
 */
function insertIdleTime(
  tx: Transaction,
  agentId: string,
  { organizationId, status, statusSince }: Runs,
  { beganAt, endedAt, scheduled }: IdleSpan,
): void {
  const isOff = endedAt === null && status === 'stopped' && statusSince > beganAt;
  const lengthMs = endedAt === null ? null : endedAt.getTime() - beganAt.getTime();
  const onMs = isOff
    ? statusSince.getTime() - beganAt.getTime()
    : lengthMs === null
      ? 0
      : lengthMs <= tooShortMs
        ? lengthMs
        : null;
  tx.deferStatement(
    `INSERT INTO agent_idle (agent_id, organization_id, began_at, ended_at, scheduled, on_ms, on_since)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (agent_id, began_at) DO UPDATE SET ended_at = EXCLUDED.ended_at, scheduled = EXCLUDED.scheduled,
       on_ms = LEAST(extract(epoch FROM EXCLUDED.ended_at - EXCLUDED.began_at) * 1000, agent_idle.on_ms + COALESCE(
         GREATEST(0, extract(epoch FROM EXCLUDED.ended_at - agent_idle.on_since) * 1000), 0)),
       on_since = NULL, slept = agent_idle.on_since IS NULL OR agent_idle.on_since >= EXCLUDED.ended_at
     WHERE agent_idle.ended_at IS NULL AND EXCLUDED.ended_at IS NOT NULL`,
    [agentId, organizationId, beganAt, endedAt, scheduled, onMs, endedAt === null && !isOff ? beganAt : null],
    'insert_idle_time',
  );
}
