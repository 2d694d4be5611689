import { startMachineCleanup, isOnStatus } from '@muster/machines';
import type { AgentStatus, LifecycleSource, RunErrorCode } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { issueStopCommand } from './cancel-job';
import { finishJob } from './finish-job';

export interface RunFailure {
  organizationId: string;
  jobId: string;
  agentId: string;
  agentStatus: AgentStatus;
  source: LifecycleSource;
  reason: string;
  code: RunErrorCode;
  /** Whether the run is retried. False if another attempt would end in the same way, or must not be made. */
  retries: boolean;
  now: Date;
}

/**
 * Fails a run by a decision of the service. The run's remaining processes are killed before its machine receives the
 * next job.
 */
export async function failRunAndKillProcesses(
  tx: Transaction,
  { organizationId, jobId, agentId, agentStatus, source, reason, code, retries, now }: RunFailure,
): Promise<{ failed?: boolean; killed?: boolean; retried?: boolean }> {
  // An agent that is not online gets no kill command: the response to its next heartbeat tells the worker to end the
  // run.
  const killed = isOnStatus(agentStatus);
  const ended = await finishJob(tx, {
    organizationId,
    jobId,
    to: 'failed',
    source,
    error: reason,
    errorCode: code,
    retries,
    clears: killed,
  });
  if (!ended?.applied) return {};
  if (killed) {
    const commandId = await issueStopCommand(tx, { organizationId, agentId, jobId, reason, graceMs: 0, now });
    startMachineCleanup(tx, agentId, commandId);
  }
  return { failed: true, killed, retried: ended.retried };
}
