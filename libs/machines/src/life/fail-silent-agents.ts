import type { AgentEntity, Database, Transaction } from '@muster/database';
import { nilId, Round, sweepRows, type SweepCounts } from '@muster/platform';
import { agentMoves, statusListSql, isOnStatus } from './agent-life';
import { setAgentStatus } from './set-agent-status';

type Watched = Pick<AgentEntity, 'id' | 'organizationId' | 'status' | 'lastSeen' | 'statusSince'>;

/**
 * Returns the reason for which a silent agent becomes offline. Null if the agent is not on or has reported recently.
 */
export function explainSilence(
  { status, lastSeen, statusSince }: Omit<Watched, 'id' | 'organizationId'>,
  now: Date,
  offlineAfterMs: number,
): string | null {
  if (!isOnStatus(status)) return null;
  const lastReportMs = Math.max(lastSeen?.getTime() ?? 0, statusSince.getTime());
  const silentMs = now.getTime() - lastReportMs;
  return silentMs > offlineAfterMs ? `no heartbeat for ${Math.round(silentMs / 1000)} s` : null;
}

/** Reads all agents that are on: no index contains the time of the last report, because each heartbeat changes it. */
export const silentAgentsSql = `
  SELECT id FROM agent
  WHERE status IN ${statusListSql(agentMoves.silent.from)} AND id > $2
    AND (last_seen < muster_now() - $1 * interval '1 millisecond' OR last_seen IS NULL)
    AND status_since < muster_now() - $1 * interval '1 millisecond'
  ORDER BY id LIMIT $3`;

/** Moves agents that no longer report to offline. Any number of replicas can run this; each agent is moved once. */
export function failSilentAgents(
  database: Database,
  { offlineAfterMs }: { offlineAfterMs: number },
  round = new Round('fail silent agents'),
): Promise<SweepCounts<'silent'>> {
  return sweepRows(round, {
    name: 'silent',
    outcomes: ['silent'],
    candidates: (after: { id: string } | null, limit) =>
      database.query<Pick<AgentEntity, 'id'>>(
        'system',
        silentAgentsSql,
        [offlineAfterMs, after?.id ?? nilId, limit],
        'silent_agents',
      ),
    settle: async ({ id }) =>
      (await database.transaction('system', (tx) => failAgentIfSilent(tx, id, offlineAfterMs))) ? 'silent' : null,
    rowOf: ({ id }) => `agent ${id}`,
  });
}

/** Reads the agent again under its lock, because it may have reported or another replica may be processing it. */
async function failAgentIfSilent(tx: Transaction, id: string, offlineAfterMs: number): Promise<boolean> {
  const [agent] = await tx.query<Watched & { now: Date }>(
    `SELECT id, organization_id, status, last_seen, status_since,
            muster_clock() AS now
     FROM agent WHERE id = $1 FOR UPDATE SKIP LOCKED`,
    [id],
    'silent_agent',
  );
  const reason = agent && explainSilence(agent, agent.now, offlineAfterMs);
  if (!reason) return false;
  const { organizationId } = agent;
  const move = {
    organizationId,
    agentId: id,
    move: 'silent',
    to: 'offline',
    source: 'watchdog',
    reason,
  } as const;
  return (await setAgentStatus(tx, move)) !== null;
}
