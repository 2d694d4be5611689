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
  await throwIfNameTaken(() =>
    tx.execute('UPDATE agent SET name = $3, labels = $4 WHERE id = $1 AND organization_id = $2', [
      id,
      organizationId,
      name,
      labels,
    ]),
  );
  audit(tx, caller, {
    action: 'agent.update',
    target: { type: 'agent', id },
    changes: listChangedFields(before, { name, labels }),
  });
  return { ...before, name, labels };
}
