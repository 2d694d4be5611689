import { type AgentEntity, type Database, type OrganizationSettingsEntity, type Transaction } from '@muster/database';
import { firstCursor, nilId, Round, sweepRows, type SweepCounts, type TimedCursor } from '@muster/platform';
import { maxGaps } from './choose-idle-limit';
import { recordIdleTimesOfAgent } from './learn-idle-habits';
import { decideIdleStop, type IdleDecision, type IdleFacts } from './decide-idle-stop';
import { agentMoves, statusListSql } from '../life/agent-life';
import type { FindExpectedRun } from './expected-run';
import { setAgentStatus } from '../life/set-agent-status';

const stoppable = statusListSql(agentMoves.idle_stop.from);

/**
 * SQL over `a`: the time since which an offline agent has been silent. The silence starts at the first wake after the
 * agent's last report, or else when the agent became offline, but never before its machine was switched on.
 */
export const silentSince = `
  CASE WHEN a.status = 'offline' THEN GREATEST(a.on_since, COALESCE(
    (SELECT min(w.requested_at) FROM agent_wake w
     WHERE w.agent_id = a.id AND w.requested_at > COALESCE(a.last_seen, '-infinity')), a.status_since)) END`;

/**
 * SQL over `a` and its organization's settings `s`: the idle times from which the adaptive policy learns. They are read
 * only if this policy is in effect.
 */
export const gapsColumn = `
  CASE WHEN s.idle_stop_policy = 'adaptive' AND a.status = 'online' THEN ARRAY(
    SELECT LEAST(2147483647, extract(epoch FROM i.ended_at - i.began_at) * 1000)::int
           * CASE WHEN i.scheduled THEN -1 ELSE 1 END
    FROM agent_idle i WHERE i.agent_id = a.id AND i.ended_at IS NOT NULL
    ORDER BY i.began_at DESC LIMIT ${maxGaps}) END AS gaps`;

/** SQL over `a`: the work of the agent in other tables that keeps its machine on. */
export const workColumns = `
  EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'running')
    OR EXISTS (SELECT FROM agent_command c WHERE c.job_id = a.current_job_id AND c.kind = 'run'
                 AND c.taken_at IS NOT NULL) AS running,
  a.current_job_id IS NOT NULL
    OR EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued') AS queued,
  EXISTS (SELECT FROM agent_command c WHERE c.agent_id = a.id AND c.status = 'pending' AND c.kind <> 'run') AS commands,
  EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open') AS waking, a.autopilot_session_id`;

/**
 * SQL: the machines of each organization that have been without activity for the organization's limit. Machines with
 * work are left out here, so that they do not fill the pages. `decideIdleStop` checks all conditions again under the
 * agent's lock.
 */
export const idleCandidates = `
  SELECT idle.id, s.organization_id, idle.at::text AS at
  FROM organization_settings s CROSS JOIN LATERAL (
    SELECT a.id, COALESCE(a.last_activity_at, a.status_since) AS at FROM agent a
    WHERE a.organization_id = s.organization_id
      AND a.status IN ${stoppable} AND a.provider <> 'external' AND NOT a.idle_auto_stop_exempt
      AND a.drain IS NULL AND a.autopilot_session_id IS NULL
      AND COALESCE(a.last_activity_at, a.status_since)
            <= $1::timestamptz - CASE s.idle_stop_policy WHEN 'adaptive' THEN 0 ELSE s.idle_stop_minutes END
               * interval '1 minute'
      AND (a.idle_stop_failed_at IS NULL OR a.idle_stop_failed_at <= $1::timestamptz - interval '1 minute')
      AND (a.status = 'online' OR ${silentSince} <= $1::timestamptz - s.idle_stop_minutes * interval '1 minute')
      AND NOT EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'running')
      AND NOT (a.status = 'online'
               AND (a.current_job_id IS NOT NULL
                    OR EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued')))
      AND NOT EXISTS (SELECT FROM agent_command c
                      WHERE c.agent_id = a.id AND c.status = 'pending' AND c.kind <> 'run')
      AND NOT EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open')
      AND (s.organization_id > $3 OR (COALESCE(a.last_activity_at, a.status_since), a.id) > ($4::timestamptz, $5::uuid))
    ORDER BY COALESCE(a.last_activity_at, a.status_since), a.id LIMIT $2) idle
  WHERE s.auto_stop_enabled AND s.organization_id >= $3
  ORDER BY s.organization_id, idle.at, idle.id LIMIT $2`;

interface Candidate extends TimedCursor, Pick<OrganizationSettingsEntity, 'organizationId'> {}

/** Returns the parameters of `idleCandidates` for the candidates after `after`; without `after`, from the start. */
export function buildIdleCandidateValues(now: Date, limit: number, after: Candidate | null = null): unknown[] {
  const { at, id } = after ?? firstCursor;
  return [now, limit, after?.organizationId ?? nilId, at, id];
}

/**
 * Stops machines that have been idle for long enough. Any number of replicas can run this; each machine is stopped
 * once.
 */
export async function stopIdleAgents(
  database: Database,
  {
    now: fixedNow,
    limit = 500,
    findExpectedRun,
  }: { now?: Date; limit?: number; findExpectedRun?: FindExpectedRun } = {},
  round = new Round('stop idle agents'),
): Promise<SweepCounts<'stopping'>> {
  const now = fixedNow ?? database.now();
  await clampFutureActivity(database, now);
  return sweepRows(round, {
    name: 'idle',
    outcomes: ['stopping'],
    limit,
    candidates: (after: Candidate | null, count) =>
      database.query<Candidate & object>(
        'system',
        idleCandidates,
        buildIdleCandidateValues(now, count, after),
        'idle_agents',
      ),
    settle: async ({ id }) =>
      (await stopIfIdle(database, id, { now, findExpectedRun }))?.action === 'stop' ? 'stopping' : null,
    rowOf: ({ id }) => `agent ${id}`,
  });
}

/**
 * Sets activity times in the future to the current time. They were written while a clock was wrong, and would keep the
 * machine on until then.
 */
async function clampFutureActivity(database: Database, now: Date): Promise<void> {
  await database.query(
    'system',
    `UPDATE agent SET last_activity_at = $1 WHERE id IN (
       SELECT ahead.id FROM organization_settings s CROSS JOIN LATERAL (
         SELECT a.id FROM agent a
         WHERE a.organization_id = s.organization_id
           AND a.status IN ${stoppable} AND a.provider <> 'external' AND NOT a.idle_auto_stop_exempt
           AND a.drain IS NULL
           AND COALESCE(a.last_activity_at, a.status_since) > $1::timestamptz + interval '1 minute'
         FOR UPDATE SKIP LOCKED) ahead)`,
    [now],
    'activity_ahead',
  );
}

/**
 * Locks the agent and stops its machine if the stop is still due. Returns the decision, or null if another process has
 * locked the agent.
 */
export function stopIfIdle(
  database: Database,
  agentId: string,
  { now, findExpectedRun }: { now: Date; findExpectedRun?: FindExpectedRun },
): Promise<IdleDecision | null> {
  return database.transaction('system', async (tx) => {
    const facts = await lockAgentAndReadIdleFacts(tx, agentId);
    if (!facts) return null;
    const expected = (await findExpectedRun?.(tx, agentId, now)) ?? null;
    const decision = decideIdleStop({ ...facts, expected }, now);
    if (decision.action !== 'stop') return decision;
    // Before the machine stops, records the idle time that started at the end of the last run.
    await recordIdleTimesOfAgent(tx, agentId);
    await setAgentStatus(tx, {
      organizationId: facts.organizationId,
      agentId,
      move: 'idle_stop',
      to: 'stopping',
      source: 'idle_monitor',
      reason: decision.reason,
      eventType: 'idle_stop_attempt',
    });
    await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
    return decision;
  });
}

/**
 * Locks the agent and then reads its work. A job that is queued after the lock finds the machine stopping and has it
 * woken again.
 */
async function lockAgentAndReadIdleFacts(
  tx: Transaction,
  agentId: string,
): Promise<(Omit<IdleFacts, 'expected'> & Pick<AgentEntity, 'organizationId'>) | undefined> {
  const locked = await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE SKIP LOCKED', [agentId], 'lock_idle_agent');
  if (locked.length === 0) return undefined;
  const [facts] = await tx.query<Omit<IdleFacts, 'expected'> & Pick<AgentEntity, 'organizationId'>>(
    `SELECT a.organization_id, a.status, a.status_since, a.provider, a.last_activity_at,
            ${silentSince} AS silent_since, a.idle_auto_stop_exempt, a.drain, a.idle_stop_failed_at, a.boot_ms,
            a.last_activity, ${workColumns}, s.auto_stop_enabled, s.idle_stop_minutes, s.idle_stop_policy, s.prewake,
            ${gapsColumn}
     FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id
     WHERE a.id = $1`,
    [agentId],
    'idle_facts',
  );
  return facts;
}
