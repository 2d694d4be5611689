import { audit, describeCallerInSentence, type Principal, getCallerChannel } from '@muster/access';
import { type AgentStatus, AppError, type LifecycleSource } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { type AgentRow, loadAgent } from '../registry/agent-row';
import { agentMoves, type MoveOf } from '../life/agent-life';
import { buildLifecycleEntry, setAgentStatus } from '../life/set-agent-status';
import { cancelWake, requestWake } from '../life/wakes';
import { parseTunnelUrl } from '../reports/tunnel-url';
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
  requireSwitchableMachine(agent, 'started');
  requireAgentStatus(agent, [...agentMoves.wake.from, 'starting'], 'started');
  const agentRef = { organizationId: caller.organizationId, agentId: id };
  const [source, reason] = [getCallerChannel(caller), `started by ${describeCallerInSentence(caller)}`];
  await requestWake(tx, { ...agentRef, source, reason, timeoutMs: wakeTimeoutMs });
  await restoreTunnelOfAgent(tx, agent);
  appendTimeline(tx, agentRef, [
    buildLifecycleEntry({ eventType: 'manual_start', source, reason, previous: agent.status, current: 'starting' }),
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
  return orderStopOrReboot(tx, caller, id, { ...stop, force });
}

/**
 * Reboots a machine in any status except terminated; a stopped machine is started. Returns when the reboot is ordered;
 * the caller can then poll the agent's status. The caller also ends a run of the agent in this transaction.
 */
export function rebootAgent(tx: Transaction, caller: Principal, id: string): Promise<{ status: AgentStatus }> {
  return orderStopOrReboot(tx, caller, id, reboot);
}

async function orderStopOrReboot(
  tx: Transaction,
  caller: Principal,
  id: string,
  { ordered, done, action, force }: Order & { force?: boolean },
): Promise<{ status: AgentStatus }> {
  const agent = await loadAgent(tx, caller.organizationId, id, 'lock_beside_launches');
  const { move, to } = ordered;
  requireSwitchableMachine(agent, done);
  requireAgentStatus(agent, [...agentMoves[move].from, to], done);
  if (force === false) requireFreeAgent(agent, done);
  const agentRef = { organizationId: caller.organizationId, agentId: id };
  const [source, reason] = [getCallerChannel(caller), `${done} by ${describeCallerInSentence(caller)}`];
  if (to === 'stopping') await cancelWake(tx, { ...agentRef, reason });
  if (agent.status !== to) {
    if (agent.status === 'stopping') recordStopEnded(tx, agent, { source, reason });
    await setAgentStatus(tx, { ...agentRef, ...ordered, source, reason });
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
export function requireSwitchableMachine(
  { provider, status }: Pick<AgentRow, 'provider' | 'status'>,
  done: string,
): void {
  if (provider !== 'external') return;
  throw new AppError('agent_not_ready', {
    detail: `The agent is ${status}. Its machine is external and cannot be ${done} by the service; use the machine’s own controls.`,
    extra: { agentStatus: status },
  });
}

function requireAgentStatus({ status }: Pick<AgentRow, 'status'>, allowed: readonly AgentStatus[], done: string): void {
  if (allowed.includes(status)) return;
  throw new AppError('agent_not_ready', {
    detail: `The agent is ${status} and cannot be ${done}. Wait until its status changes, then try again.`,
    extra: { agentStatus: status },
  });
}

/** Throws if the agent has a run or a session and the caller did not request explicitly to end them. */
export function requireFreeAgent(
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
    detail: `The agent cannot be ${done} because ${jobId ? `job ${jobId}` : 'a job'} is running on it. Wait until the job has ended, or repeat the request with force: true.`,
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
    buildLifecycleEntry({ eventType: 'idle_stop_failed', source, reason, previous: status, current: status }),
  ]);
}

/** Restores the tunnel that the agent had before the stop. The next handshake reports the tunnel again. */
async function restoreTunnelOfAgent(tx: Transaction, { id }: Pick<AgentRow, 'id'>): Promise<void> {
  const [row] = await tx.query<{ hostname: AgentEntity['tunnelHostname']; url: AgentEntity['tunnelUrl'] }>(
    'SELECT tunnel_hostname AS hostname, tunnel_url AS url FROM agent WHERE id = $1',
    [id],
  );
  const url = parseTunnelUrl(row!.hostname) ?? row!.url;
  if (url) await tx.execute('UPDATE agent SET public_tunnel_url = $2 WHERE id = $1', [id, url]);
}
