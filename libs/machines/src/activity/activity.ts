import { type CommandKind, agentNotFoundError } from '@muster/contracts';
import { audit, type Principal } from '@muster/access';
import type { AgentEntity, Transaction } from '@muster/database';

/** The text of an agent's last activity if that activity was the end of a run. */
export const runEnded = 'a run ended';

/** Sets whether idle stop leaves the agent's machine on. */
export async function setIdleExempt(tx: Transaction, caller: Principal, id: string, exempt: boolean): Promise<void> {
  const [agent] = await tx.query<{ before: AgentEntity['idleAutoStopExempt'] }>(
    // The subquery locks the row, so that the audit row contains the previous value even if a concurrent change has
    // just set it.
    `UPDATE agent SET idle_auto_stop_exempt = $3
     FROM (SELECT id, idle_auto_stop_exempt FROM agent WHERE id = $1 AND organization_id = $2 FOR UPDATE) AS was
     WHERE was.id = agent.id RETURNING was.idle_auto_stop_exempt AS before`,
    [id, caller.organizationId, exempt],
  );
  if (!agent) throw agentNotFoundError();
  audit(tx, caller, {
    action: 'agent.idle_exempt',
    target: { type: 'agent', id },
    changes: { idleAutoStopExempt: [agent.before, exempt] },
  });
}

/** Records activity of the agent. The time of the last activity never moves back and is never in the future. */
export async function recordClientActivity(
  tx: Transaction,
  caller: Principal,
  id: string,
  { kind = 'activity that a client reported', at }: { kind?: string; at?: Date } = {},
): Promise<Date> {
  const [agent] = await tx.query<{ at: NonNullable<AgentEntity['lastActivityAt']> }>(
    `UPDATE agent SET last_activity_at = GREATEST(last_activity_at, LEAST($3, muster_now())),
       last_activity = CASE WHEN last_activity_at >= LEAST($3, muster_now()) THEN last_activity ELSE $4 END
     WHERE id = $1 AND organization_id = $2 RETURNING last_activity_at AS at`,
    [id, caller.organizationId, at ?? new Date(8.64e14), kind],
  );
  if (!agent) throw agentNotFoundError();
  return agent.at;
}

/** Records the request of a command as activity of the agent. */
export function recordCommandActivity(tx: Transaction, agentId: string, kind: CommandKind): void {
  tx.deferStatement(
    `UPDATE agent SET last_activity_at = GREATEST(last_activity_at, muster_now()), last_activity = $2 WHERE id = $1`,
    [agentId, `a ${kind} command`],
    'command_activity',
  );
}

/**
 * SQL that records activity of an agent if the condition holds, as a part of the statement for a command's result.
 * `agentId` and `organizationId` are parameters of that statement.
 */
export function markAgentActiveSql(
  names: Record<'agentId' | 'organizationId' | 'activity' | 'condition', string>,
): string {
  const { agentId, organizationId, activity, condition } = names;
  return `UPDATE agent SET last_activity_at = muster_now(), last_activity = '${activity}'
         WHERE id = ${agentId} AND organization_id = ${organizationId}
           AND ${condition}`;
}

/** Seconds after an activity within which another callback of the worker does not update the activity. */
const grainSeconds = 5;

/**
 * SQL that records activity of an agent, as a part of the statement for a worker's callback. `agentIds` is a subquery.
 * A locked agent is skipped, because the transaction that locked it may wait for a lock of this statement; the next
 * callback updates the agent.
 */
export function recordWorkSql(agentIds: string, activity: string): string {
  return `UPDATE agent SET last_activity_at = muster_now(), last_activity = '${activity}' WHERE id = ANY(ARRAY(
      SELECT id FROM agent
      WHERE id = ANY(ARRAY(${agentIds})) AND COALESCE(last_activity_at, '-infinity') < muster_now() - interval '${grainSeconds} seconds'
      FOR UPDATE SKIP LOCKED))`;
}
