import { type Principal, getCallerChannel } from '@muster/access';
import { drainAgent, rebootAgent, stopAgent, terminateAgent, type TouchedJobs } from '@muster/machines';
import { endCommandsOfTerminated } from '@muster/commands';
import type { Transaction } from '@muster/database';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { failRunsOfAgent, lockRunsOfAgent } from '../ends/fail-runs-of-agent';

// A reboot and a forced stop, drain or termination of a machine fail the machine's runs in the same transaction. This
// transaction locks the runs first, because reports and cancels lock a run before its agent.

export async function stopAgentAndRuns(tx: Transaction, caller: Principal, id: string, { force }: { force?: boolean }) {
  if (force) lockRunsOfAgent(tx, caller, id);
  const answer = await stopAgent(tx, caller, id, { force });
  const error = 'The agent was stopped.';
  if (force) await failRunsOfAgent(tx, caller, id, { errorCode: 'agent_stopped', error });
  return answer;
}

export async function rebootAgentAndRuns(tx: Transaction, caller: Principal, id: string) {
  lockRunsOfAgent(tx, caller, id);
  const answer = await rebootAgent(tx, caller, id);
  await failRunsOfAgent(tx, caller, id, { errorCode: 'agent_rebooted', error: 'The agent was rebooted.' });
  return answer;
}

export async function terminateAgentAndRuns(
  tx: Transaction,
  caller: Principal,
  id: string,
  { force }: { force?: boolean },
): Promise<void> {
  if (force) lockRunsOfAgent(tx, caller, id);
  await terminateAgent(tx, caller, id, { force });
  await endCommandsOfTerminated(tx, { organizationId: caller.organizationId, agentId: id }, getCallerChannel(caller));
  // Terminating the machine also ends the cleanup after its last run, so the keys and accounts of that run become free.
  enqueuePlacementOfJobs(tx, caller.organizationId);
  const error = 'The agent was terminated.';
  if (force) await failRunsOfAgent(tx, caller, id, { errorCode: 'agent_stopped', error });
}

export async function drainAgentAndRuns(
  tx: Transaction,
  caller: Principal,
  id: string,
  { mode, force, now }: { mode: 'finish' | 'now'; force?: boolean; now: Date },
): Promise<TouchedJobs> {
  const endsRuns = mode === 'now' && force;
  if (endsRuns) lockRunsOfAgent(tx, caller, id);
  const touched = await drainAgent(tx, caller, id, { mode, force });
  if (endsRuns) {
    const error = 'The agent was drained at once.';
    await failRunsOfAgent(tx, caller, id, { errorCode: 'agent_stopped', error, stopNow: now });
  }
  return touched;
}
