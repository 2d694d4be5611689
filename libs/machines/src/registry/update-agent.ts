import { audit, listChangedFields, type Principal } from '@muster/access';
import type { UpdateAgentBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { type AgentRow, loadAgent } from './agent-row';
import { throwIfNameTaken } from './create-agent';

export async function updateAgent(
  tx: Transaction,
  caller: Principal,
  id: string,
  change: UpdateAgentBody,
): Promise<AgentRow> {
  const { organizationId } = caller;
  const before = await loadAgent(tx, organizationId, id, 'lock');
  const name = change.name ?? before.name;
  const labels = change.labels ?? before.labels;
  const placement = change.placement ?? before.placement;
  await throwIfNameTaken(() =>
    tx.execute('UPDATE agent SET name = $3, labels = $4, placement = $5 WHERE id = $1 AND organization_id = $2', [
      id,
      organizationId,
      name,
      labels,
      placement,
    ]),
  );
  // With its new labels, the agent may be able to run jobs that wait for an agent.
  if (change.labels || change.placement)
    await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } });
  audit(tx, caller, {
    action: 'agent.update',
    target: { type: 'agent', id },
    changes: listChangedFields(before, { name, labels, placement }),
  });
  return { ...before, name, labels, placement };
}
