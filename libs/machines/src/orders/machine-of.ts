import { signText, deriveSigningSecrets } from '@muster/access';
import type { AgentEntity } from '@muster/database';
import { type Clock, finishWithin } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import type { Machine, MachineDescription, MachineProvider } from '@muster/vm';

/**
 * Duration of a lease in milliseconds. If a process dies while it executes an order, another process continues the
 * order after this time. That process reads the machine's state before it acts.
 */
export const leaseMs = 15_000;

export interface MachineRow extends Pick<
  AgentEntity,
  'organizationId' | 'status' | 'provider' | 'providerRef' | 'providerConfig'
> {
  agentId: AgentEntity['id'];
}

/** The columns of `MachineRow`, for a statement with the agent `a`. */
export const machineColumns = `
  a.id AS agent_id, a.organization_id, a.status, a.provider, a.provider_ref, a.provider_config`;

/** Returns the agent's machine in the form that its provider expects. */
export function toProviderMachine(row: MachineRow, keyRing: KeyRing, clock: Clock): Machine {
  const { agentId, organizationId, providerRef, providerConfig } = row;
  return {
    agentId,
    organizationId,
    providerRef,
    providerConfig,
    sign: (text) => signText(deriveSigningSecrets(keyRing, organizationId), text, clock.now()),
  };
}

/** Returns the provider's description of a machine. Null if the call fails or exceeds the time limit. */
export function describeMachineWithinLimit(
  provider: MachineProvider,
  machine: Machine,
  limitMs: number,
): Promise<MachineDescription | null> {
  const described = provider.describe(machine).catch(() => null);
  return finishWithin(limitMs, described, () => null);
}
