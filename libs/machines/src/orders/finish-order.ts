import type { AgentStatus } from '@muster/contracts';
import type { AgentWakeEntity, Transaction } from '@muster/database';
import { Logger } from '@nestjs/common';
import type { Order } from './machine-order';
import { type MoveOf, getOnStatus } from '../life/agent-life';
import { setAgentStatus } from '../life/set-agent-status';
import type { MachineParts } from './wake-machine';

/** A machine that reported within this many seconds is assumed to be running. */
const recentReportSeconds = 90;
const logger = new Logger('machines');

/** Ends a stop or a reboot. If a wake waited for the end, the wake continues. */
export async function finishOrder(
  parts: MachineParts,
  order: Order,
  { reason, state, failed = false }: { reason: string; state?: string; failed?: boolean },
): Promise<void> {
  const { agentId, organizationId, status, statusSource } = order;
  const off = state === 'stopped' || state === 'gone';
  const idle = status === 'stopping' && statusSource === 'idle_monitor';
  await parts.database.transaction('system', async (tx) => {
    const agentRef = { organizationId, agentId };
    const reportedRecently = status === 'stopping' && !off && (await hasReportedRecently(tx, agentId));
    const left = off ? 'stopped' : decideFinalStatus(order, reportedRecently);
    const moved = await setAgentStatus(tx, {
      ...agentRef,
      ...chooseStatusMoveAfterOrder(status, left, idle),
      source: idle ? 'idle_monitor' : 'provider',
      reason,
    });
    if (!moved) return;
    if (failed) logger.warn(`agent ${agentId}: ${status} failed: ${reason}`);
    await tx.execute('DELETE FROM agent_control WHERE agent_id = $1', [agentId]);
    await tx.execute(
      `UPDATE agent SET vm_state = COALESCE($2, vm_state), vm_ip = CASE WHEN $3 THEN NULL ELSE vm_ip END,
              public_tunnel_url = CASE WHEN $3 THEN NULL ELSE public_tunnel_url END,
              idle_stop_failed_at = CASE WHEN $4 THEN muster_now() WHEN $3 THEN NULL ELSE idle_stop_failed_at END,
              clearing_command_id = CASE WHEN NOT $3 AND NOT $5 THEN clearing_command_id END
       WHERE id = $1`,
      [agentId, state ?? null, off, idle && !off, status === 'rebooting'],
    );
    await continueWaitingWake(tx, agentRef);
    if (off) await tx.enqueue({ queue: 'dispatch', name: 'agent-stopped', payload: { agentId } });
    await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  });
}

function chooseStatusMoveAfterOrder(
  status: AgentStatus,
  to: FinalStatus | 'stopped',
  idle: boolean,
): MoveOf<'stop_ended' | 'reboot_ended'> {
  if (status !== 'stopping') return { move: 'reboot_ended', to: to === 'stopped' ? to : 'offline' };
  if (!idle) return { move: 'stop_ended', to };
  return { move: 'stop_ended', to, eventType: to === 'stopped' ? 'idle_stop_success' : 'idle_stop_failed' };
}

type FinalStatus = 'offline' | 'online' | 'draining';

/**
 * Decides the agent's status after a stop or a reboot that failed. An agent that was on and still reports after a
 * failed stop is on again; any other agent is offline.
 */
export function decideFinalStatus(
  { status, previousStatus, drain }: Pick<Order, 'status' | 'previousStatus' | 'drain'>,
  reportedRecently: boolean,
): FinalStatus {
  if (status !== 'stopping' || previousStatus === 'offline' || !reportedRecently) return 'offline';
  return getOnStatus({ drain });
}

/**
 * Whether the agent has reported recently. The condition is not in WHERE, because Postgres would not lock a row that
 * does not match, and would miss a concurrent report.
 */
async function hasReportedRecently(tx: Transaction, agentId: string): Promise<boolean> {
  const [agent] = await tx.query<{ recent: boolean | null }>(
    `SELECT last_seen > muster_now() - $2 * interval '1 second' AS recent FROM agent WHERE id = $1 FOR UPDATE`,
    [agentId, recentReportSeconds],
  );
  return agent?.recent ?? false;
}

async function continueWaitingWake(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
): Promise<void> {
  const [wake] = await tx.query<Pick<AgentWakeEntity, 'id' | 'reason' | 'source'>>(
    `UPDATE agent_wake SET next_try_at = muster_now() WHERE agent_id = $1 AND state = 'open' RETURNING id, reason, source`,
    [agentRef.agentId],
  );
  if (!wake) return;
  const { id: wakeId, source, reason } = wake;
  await setAgentStatus(tx, { ...agentRef, move: 'wake', to: 'starting', source, reason });
  await tx.enqueue({ queue: 'dispatch', name: 'wake-agent', payload: { wakeId } });
}
