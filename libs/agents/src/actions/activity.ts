import { audit, type Principal } from '@muster/access';
import type { AgentEntity, Transaction } from '@muster/database';
import { noSuchAgent } from '../registry/agent-row';

/** Pins an agent against idle stop, or lets it go again. */
export async function setIdleExempt(tx: Transaction, caller: Principal, id: string, exempt: boolean): Promise<void> {
  const [agent] = await tx.query<{ before: AgentEntity['idleAutoStopExempt'] }>(
    `UPDATE agent SET idle_auto_stop_exempt = $3 FROM agent AS was
     WHERE was.id = agent.id AND agent.id = $1 AND agent.organization_id = $2
     RETURNING was.idle_auto_stop_exempt AS before`,
    [id, caller.organizationId, exempt],
  );
  if (!agent) throw noSuchAgent();
  audit(tx, caller, {
    action: 'agent.idle_exempt',
    target: { type: 'agent', id },
    changes: { idleAutoStopExempt: [agent.before, exempt] },
  });
}

/** Somebody works at the agent. It never moves back, and never ahead of now. */
export async function markActivity(
  tx: Transaction,
  caller: Principal,
  id: string,
  { kind = 'somebody at work', at }: { kind?: string; at?: Date } = {},
): Promise<Date> {
  const [agent] = await tx.query<{ at: NonNullable<AgentEntity['lastActivityAt']> }>(
    `UPDATE agent SET last_activity_at = GREATEST(last_activity_at, LEAST($3, muster_now())),
       last_activity = CASE WHEN last_activity_at >= LEAST($3, muster_now()) THEN last_activity ELSE $4 END
     WHERE id = $1 AND organization_id = $2 RETURNING last_activity_at AS at`,
    [id, caller.organizationId, at ?? new Date(8.64e14), kind],
  );
  if (!agent) throw noSuchAgent();
  return agent.at;
}

/** How exactly callbacks move an agent's activity: one that comes this soon after another moves nothing. */
const grainSeconds = 5;

/**
 * For a callback's statement: the agent that `agentId` (a subquery) names has done some of its work. Whoever holds the
 * agent may be waiting for what the statement holds, so then it moves nothing; the next callback will.
 */
export function markWorking(agentId: string, what: string): string {
  return `UPDATE agent SET last_activity_at = muster_now(), last_activity = '${what}' WHERE id = (
      SELECT id FROM agent
      WHERE id = (${agentId}) AND COALESCE(last_activity_at, '-infinity') < muster_now() - interval '${grainSeconds} seconds'
      FOR UPDATE SKIP LOCKED)`;
}
