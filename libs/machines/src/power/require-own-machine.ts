import { AppError } from '@muster/contracts';
import { finishWithin } from '@muster/platform';
import { MachineError } from '@muster/vm';
import { machineColumns, toProviderMachine, type MachineRow } from '../orders/machine-of';
import type { MachineParts } from '../orders/wake-machine';

/** Time limit of the check in milliseconds. If the provider answers later, the order itself reports the error. */
const guardMs = 3000;

/**
 * Throws if the agent's machine does not have the tag of the organization, with a text for the user. Without this check
 * the error would appear only when the provider refuses the order. Call this before a transaction starts.
 */
export async function requireOwnMachine(
  { database, machines, keyRing, clock }: MachineParts,
  organizationId: string,
  id: string,
): Promise<void> {
  const [row] = await database.query<MachineRow>(
    { organizationId },
    `SELECT ${machineColumns} FROM agent a WHERE a.id = $1 AND a.organization_id = $2 AND a.status <> 'terminated'`,
    [id, organizationId],
    'agent_to_order',
  );
  if (!row) return;
  const provider = machines.get(row.provider);
  if (!provider.isShared) return;
  const refused = provider.describe(toProviderMachine(row, keyRing, clock)).then(
    () => null,
    (error: unknown) => (error instanceof MachineError && error.fault === 'not_ours' ? error : null),
  );
  const error = await finishWithin(guardMs, refused, () => null);
  if (error) throw new AppError('machine_not_ours', { detail: error.message, extra: { agentStatus: row.status } });
}
