import type { Principal } from '@muster/access';
import { type AgentStatus, AppError, type BootEnd, type MachineRefusal } from '@muster/contracts';

/**
 * Throws if the caller's key is bound to another agent. An unbound worker key may act for every agent of its
 * organization.
 */
export function requireOwnAgent(caller: Principal, agentId: string): void {
  if (caller.kind !== 'api_key' || caller.agentId === null || caller.agentId === agentId) return;
  throw new AppError('permission_denied', {
    detail: 'This worker key belongs to another agent. Use the key of the agent in the path.',
  });
}

/** Returns the error for a machine's request that the agent's current status does not allow. */
export function machineRefusedError(detail: string, agentStatus: AgentStatus, boot?: BootEnd): AppError {
  const extra: MachineRefusal = { agentStatus, ...(boot ? { boot } : {}) };
  return new AppError('conflict', { detail, extra: { ...extra } });
}
