import { audit, spokenNameOf, type Principal, sourceOf } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { requireFree } from './power';
import { moveAgent } from '../life/move-agent';
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
  if (agent.status === 'terminated') throw notReady('The agent is already terminated.', agent.status);
  if (!force) requireFree(agent, 'terminated');
  await moveAgent(tx, {
    organizationId,
    agentId: id,
    move: 'terminate',
    to: 'terminated',
    source: sourceOf(caller),
    reason: `terminated by ${spokenNameOf(caller)}`,
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

function notReady(detail: string, agentStatus: string): AppError {
  return new AppError('agent_not_ready', { detail, extra: { agentStatus } });
}
