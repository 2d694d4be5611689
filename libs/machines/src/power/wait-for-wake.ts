import { type AgentStatus, AppError } from '@muster/contracts';
import type { AgentWakeEntity, Database } from '@muster/database';
import { type PubSub, watchUntilFinal } from '@muster/platform';
import { findAgent } from '../registry/agent-row';

interface WakeEnd {
  state: 'ready' | 'timeout' | 'failed' | 'cancelled';
  error: string | null;
}

export interface AwaitedWake {
  organizationId: string;
  agentId: string;
  wakeId: string;
  /** Id of the job for which the machine is started. */
  jobId: string;
}

/** Milliseconds for which the wait continues after the wake's deadline, in case no process ends the wake in time. */
const patienceMs = 15_000;

/**
 * Waits until the wake has ended and returns the agent's status. Throws if the wake did not succeed; the job then stays
 * queued.
 */
export async function waitUntilOnlineOrThrow(
  { database, pubSub, wakeTimeoutMs }: { database: Database; pubSub: PubSub; wakeTimeoutMs: number },
  wake: AwaitedWake,
  left: AbortSignal,
): Promise<AgentStatus> {
  const signal = AbortSignal.any([left, AbortSignal.timeout(wakeTimeoutMs + patienceMs)]);
  const end = await waitForWake({ database, pubSub }, wake, signal);
  if (end?.state === 'ready') return 'online';
  const { status: agentStatus } = await findAgent(database, wake.organizationId, wake.agentId);
  const extra = { jobId: wake.jobId, agentStatus };
  const rest = `The job stays queued and starts when the agent is online.`;
  if (end === null || end.state === 'timeout') {
    throw new AppError('execution_timeout', {
      detail: `The machine of the agent did not start in time. ${rest}`,
      extra,
    });
  }
  throw new AppError('agent_not_woken', {
    detail: `The machine of the agent could not be started: ${end.error ?? end.state} ${rest}`,
    extra,
  });
}

/** Returns how the wake ended, or null if the caller stopped waiting. The wake continues even if no caller waits. */
async function waitForWake(
  { database, pubSub }: { database: Database; pubSub: PubSub },
  wake: { organizationId: string; agentId: string; wakeId: string },
  signal: AbortSignal,
): Promise<WakeEnd | null> {
  const readWakeEnd = async (): Promise<WakeEnd | null> => {
    const [row] = await database.query<Pick<AgentWakeEntity, 'state' | 'error'>>(
      { organizationId: wake.organizationId },
      'SELECT state, error FROM agent_wake WHERE id = $1',
      [wake.wakeId],
      'wake_state',
    );
    if (!row) return { state: 'cancelled', error: 'the agent was deleted' };
    return row.state === 'open' ? null : { state: row.state, error: row.error };
  };
  return watchUntilFinal(
    { pubSub, topic: 'agent', id: wake.agentId, pollMs: 500, signal },
    readWakeEnd,
    (end) => end !== null,
  );
}
