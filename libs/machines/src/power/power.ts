import { audit, spokenNameOf, type Principal, sourceOf } from '@muster/access';
import { type AgentStatus, AppError, type LifecycleSource } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { type AgentRow, loadAgent } from '../registry/agent-row';
import { agentMoves, type MoveOf } from '../life/agent-life';
import { lifecycleEntry, moveAgent } from '../life/move-agent';
import { cancelWake, requestWake } from '../life/wakes';
import { tunnelUrlOf } from '../reports/tunnel-url';
import { appendTimeline } from '@muster/timeline';

/**
 * Starts a machine on a user's request, even if auto-wake is off. Returns before the machine has started; the wake
 * continues in the background.
 */
export async function startAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  wakeTimeoutMs: number,
): Promise<{ status: AgentStatus }> {
  const agent = await loadAgent(tx, caller.organizationId, id, 'lock');
  requireSwitch(agent, 'started');
  requireStatus(agent, [...agentMoves.wake.from, 'starting'], 'started');
  const agentRef = { organizationId: caller.organizationId, agentId: id };
  const [source, reason] = [sourceOf(caller), `started by ${spokenNameOf(caller)}`];
  await requestWake(tx, { ...agentRef, source, reason, timeoutMs: wakeTimeoutMs });
  await restoreTunnel(tx, agent);
  appendTimeline(tx, agentRef, [
    lifecycleEntry({ eventType: 'manual_start', source, reason, previous: agent.status, current: 'starting' }),
  ]);
  audit(tx, caller, {
    action: 'agent.start',
    target: { type: 'agent', id },
    changes: { status: [agent.status, 'starting'] },
  });
  return { status: 'starting' };
}

interface Order {
  ordered: MoveOf<'stop' | 'reboot'>;
  done: 'stopped' | 'rebooted';
  action: string;
}

const stop: Order = {
  ordered: { move: 'stop', to: 'stopping', eventType: 'manual_stop' },
  done: 'stopped',
  action: 'agent.stop',
};
const reboot: Order = {
  ordered: { move: 'reboot', to: 'rebooting', eventType: 'manual_reboot' },
  done: 'rebooted',
  action: 'agent.reboot',
};

/**
 * Stops a machine on a user's request. With `force`, the machine is stopped even during a run, which the caller ends in
 * this transaction.
 */
export function stopAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ status: AgentStatus }> {
  return orderMachine(tx, caller, id, { ...stop, force });
}

/**
 * Reboots a machine in any status except terminated; a stopped machine is started. Returns when the reboot is ordered;
 * the caller can then poll the agent's status. The caller also ends a run of the agent in this transaction.
 */
export function rebootAgent(tx: Transaction, caller: Principal, id: string): Promise<{ status: AgentStatus }> {
  return orderMachine(tx, caller, id, reboot);
}

async function orderMachine(
  tx: Transaction,
  caller: Principal,
  id: string,
  { ordered, done, action, force }: Order & { force?: boolean },
): Promise<{ status: AgentStatus }> {
  const agent = await loadAgent(tx, caller.organizationId, id, 'lock_beside_launches');
  const { move, to } = ordered;
  requireSwitch(agent, done);
  requireStatus(agent, [...agentMoves[move].from, to], done);
  if (force === false) requireFree(agent, done);
  const agentRef = { organizationId: caller.organizationId, agentId: id };
  const [source, reason] = [sourceOf(caller), `${done} by ${spokenNameOf(caller)}`];
  if (to === 'stopping') await cancelWake(tx, { ...agentRef, reason });
  if (agent.status !== to) {
    if (agent.status === 'stopping') recordStopEnded(tx, agent, { source, reason });
    await moveAgent(tx, { ...agentRef, ...ordered, source, reason });
    await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId: id } });
  }
  audit(tx, caller, {
    action,
    target: { type: 'agent', id },
    changes: { status: [agent.status, to], ...(force ? { force } : {}) },
  });
  return { status: to };
}

/** Throws if the machine is external, because the service cannot switch it on or off. */
export function requireSwitch({ provider, status }: Pick<AgentRow, 'provider' | 'status'>, done: string): void {
  if (provider !== 'external') return;
  throw new AppError('agent_not_ready', {
    detail: `The agent is ${status}. Its machine is external and cannot be ${done} by the service; use the machine’s own controls.`,
    extra: { agentStatus: status },
  });
}

function requireStatus({ status }: Pick<AgentRow, 'status'>, allowed: readonly AgentStatus[], done: string): void {
  if (allowed.includes(status)) return;
  throw new AppError('agent_not_ready', {
    detail: `The agent is ${status} and cannot be ${done}.`,
    extra: { agentStatus: status },
  });
}

/** Throws if the agent has a run or a session and the caller did not request explicitly to end them. */
export function requireFree(
  { currentJobId: jobId, running, status, autopilotSessionId }: AgentRow,
  done: string,
): void {
  if (autopilotSessionId) {
    throw new AppError('agent_not_ready', {
      detail: `The agent cannot be ${done} because autopilot session ${autopilotSessionId} uses it. Cancel the session, or repeat the request with force: true.`,
      extra: { agentStatus: status, sessionId: autopilotSessionId },
    });
  }
  if (!jobId && !running) return;
  throw new AppError('agent_not_ready', {
    detail: `The agent cannot be ${done} because ${jobId ? `job ${jobId}` : 'a job'} is running on it. Wait for its end, or repeat the request with force: true.`,
    extra: { agentStatus: status, ...(jobId ? { jobId } : {}) },
  });
}

/** Records the failure of an idle stop that is interrupted by another order to the machine. */
function recordStopEnded(
  tx: Transaction,
  { id, organizationId, status, statusSource }: AgentRow,
  { source, reason }: { source: LifecycleSource; reason: string },
): void {
  if (statusSource !== 'idle_monitor') return;
  appendTimeline(tx, { organizationId, agentId: id }, [
    lifecycleEntry({ eventType: 'idle_stop_failed', source, reason, previous: status, current: status }),
  ]);
}

/** Restores the tunnel that the agent had before the stop. The next handshake reports the tunnel again. */
async function restoreTunnel(tx: Transaction, { id }: Pick<AgentRow, 'id'>): Promise<void> {
  const [row] = await tx.query<{ hostname: AgentEntity['tunnelHostname']; url: AgentEntity['tunnelUrl'] }>(
    'SELECT tunnel_hostname AS hostname, tunnel_url AS url FROM agent WHERE id = $1',
    [id],
  );
  const url = tunnelUrlOf(row!.hostname) ?? row!.url;
  if (url) await tx.execute('UPDATE agent SET public_tunnel_url = $2 WHERE id = $1', [id, url]);
}
