import { type AgentEntity, type Database, type OrganizationSettingsEntity, type Transaction } from '@muster/database';
import { nilId, Round, sweep, type SweepCounts } from '@muster/platform';
import { mostGaps } from '../habits/choose-idle-limit';
import { learnOf } from '../habits/learn-habits';
import { decideIdleStop, type IdleDecision, type IdleFacts } from './decide-idle-stop';
import { agentMoves, inSql } from './agent-life';
import type { Foresee } from './expected-run';
import { moveAgent } from './move-agent';

const stoppable = inSql(agentMoves.idle_stop.from);

/** Of one that is offline, over `a`: since its first wake that brought no word, or since it fell silent. */
export const silentSince = `
  CASE WHEN a.status = 'offline' THEN GREATEST(a.on_since, COALESCE(
    (SELECT min(w.requested_at) FROM agent_wake w
     WHERE w.agent_id = a.id AND w.requested_at > COALESCE(a.last_seen, '-infinity')), a.status_since)) END`;

/** What adaptive learns from, over `a` and its organization's settings `s`; read only where it decides. */
export const gapsColumn = `
  CASE WHEN s.idle_stop_policy = 'adaptive' AND a.status = 'online' THEN ARRAY(
    SELECT LEAST(2147483647, extract(epoch FROM i.ended_at - i.began_at) * 1000)::int
           * CASE WHEN i.scheduled THEN -1 ELSE 1 END
    FROM agent_idle i WHERE i.agent_id = a.id AND i.ended_at IS NOT NULL
    ORDER BY i.began_at DESC LIMIT ${mostGaps}) END AS gaps`;

/** What keeps a machine on beside its own row, over `a`. */
export const workColumns = `
  EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'running')
    OR EXISTS (SELECT FROM agent_command c WHERE c.job_id = a.current_job_id AND c.kind = 'run'
                 AND c.taken_at IS NOT NULL) AS running,
  a.current_job_id IS NOT NULL
    OR EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued') AS queued,
  EXISTS (SELECT FROM agent_command c WHERE c.agent_id = a.id AND c.status = 'pending' AND c.kind <> 'run') AS commands,
  EXISTS (SELECT FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open') AS waking, a.autopilot_session_id`;

/**
 * Each organization's machines that nothing has happened on for its limit. What is decided under the lock is more than
 * this; what is left out here are those that stay for as long as they have work, so that they stand in nobody's way.
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

interface Candidate extends Pick<AgentEntity, 'id'>, Pick<OrganizationSettingsEntity, 'organizationId'> {
  /** To the microsecond, which a Date does not have. */
  at: string;
}

/** The values of idleCandidates: what comes behind one, from the beginning on. */
export function idleValues(now: Date, limit: number, after: Candidate | null = null): unknown[] {
  return [now, limit, after?.organizationId ?? nilId, after?.at ?? '-infinity', after?.id ?? nilId];
}

/**
 * Stops machines that have been idle for long enough; on any number of replicas, each once.
 */
export async function stopIdleAgents(
  database: Database,
  { now: given, limit = 500, foresee }: { now?: Date; limit?: number; foresee?: Foresee } = {},
  round = new Round('stop idle agents'),
): Promise<SweepCounts<'stopping'>> {
  const now = given ?? database.now();
  await clampFutureActivity(database, now);
  return sweep(round, {
    name: 'idle',
    outcomes: ['stopping'],
    limit,
    candidates: (after: Candidate | null, count) =>
      database.query<Candidate & object>('system', idleCandidates, idleValues(now, count, after), 'idle_agents'),
    settle: async ({ id }) =>
      (await stopIfIdle(database, id, { now, foresee }))?.action === 'stop' ? 'stopping' : null,
    rowOf: ({ id }) => `agent ${id}`,
  });
}

/** Activity of a clock that was set back since: it would keep a machine on for as long as that went wrong. */
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

/** Decided again under the agent's lock. Null: somebody else is at it. */
export function stopIfIdle(
  database: Database,
  agentId: string,
  { now, foresee }: { now: Date; foresee?: Foresee },
): Promise<IdleDecision | null> {
  return database.transaction('system', async (tx) => {
    const facts = await lockFacts(tx, agentId);
    if (!facts) return null;
    const expected = (await foresee?.(tx, agentId, now)) ?? null;
    const decision = decideIdleStop({ ...facts, expected }, now);
    if (decision.action !== 'stop') return decision;
    // What its machine was on for without work is counted from the end of its last run.
    await learnOf(tx, agentId);
    await moveAgent(tx, {
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

/** Its work is read once the lock is held: a job that comes later finds the machine stopping, and has it woken. */
async function lockFacts(
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
