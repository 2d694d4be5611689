import { audit, describeCallerInSentence, type Principal, getCallerChannel } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { requireFreeAgent } from './power';
import { setAgentStatus } from '../life/set-agent-status';
import { loadAgent } from '../registry/agent-row';

/**
 * Terminates an agent. The agent disappears from the lists at once; its provider terminates the machine later. The
 * caller ends the agent's commands (`endCommandsOfTerminated`) and runs.
 */
export async function terminateAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<void> {
  const { organizationId } = caller;
  const agent = await loadAgent(tx, organizationId, id, 'lock_beside_launches');
  if (agent.status === 'terminated')
    throw agentNotReadyError('The agent is already terminated, and its machine is removed.', agent.status);
  if (!force) requireFreeAgent(agent, 'terminated');
  await setAgentStatus(tx, {
    organizationId,
    agentId: id,
    move: 'terminate',
    to: 'terminated',
    source: getCallerChannel(caller),
    reason: `terminated by ${describeCallerInSentence(caller)}`,
  });
  await tx.enqueue(
    { queue: 'dispatch', name: 'control-agent', payload: { agentId: id } },
    { queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } },
  );
  audit(tx, caller, {
    action: 'agent.terminate',
    target: { type: 'agent', id },
    changes: { status: [agent.status, 'terminated'], ...(force ? { force } : {}) },
  });
}

function agentNotReadyError(detail: string, agentStatus: string): AppError {
  return new AppError('agent_not_ready', { detail, extra: { agentStatus } });
}
