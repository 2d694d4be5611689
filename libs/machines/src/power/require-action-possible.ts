import { type Principal, requireUnsuspended } from '@muster/access';
import { type AgentAction, type AgentStatus, hasPermission } from '@muster/contracts';
import type { MachineParts } from '../orders/wake-machine';
import { findAgent } from '../registry/agent-row';
import { requireOwnMachine } from './require-own-machine';

/** Actions that turn a machine on or off. */
const switches: ReadonlySet<AgentAction> = new Set(['start', 'stop', 'reboot', 'terminate', 'start_job']);
/**
 * Actions that start something, which a suspended organization may not do. A reboot counts as a start if the machine is
 * off.
 */
const beginnings: ReadonlySet<AgentAction> = new Set(['start', 'start_job', 'start_recording', 'attach_recording']);
const off: readonly AgentStatus[] = ['stopped', 'stopping'];

/**
 * Throws if the caller's permissions or the state of the machine do not allow the action. Only conditions that can be
 * checked before the first write are checked.
 */
export async function requirePossibleMachineAction(
  parts: MachineParts,
  caller: Principal,
  id: string,
  { action, force = false }: { action: AgentAction; force?: boolean },
): Promise<void> {
  const { organizationId, organizationSuspended } = caller;
  const begins =
    beginnings.has(action) ||
    (organizationSuspended &&
      action === 'reboot' &&
      off.includes((await findAgent(parts.database, organizationId, id)).status));
  if (begins) requireUnsuspended(caller);
  if (!switches.has(action) || (action === 'terminate' && (force || !hasPermission(caller, 'agents.admin')))) return;
  await requireOwnMachine(parts, organizationId, id);
}
