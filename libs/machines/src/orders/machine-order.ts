import type { AgentControlEntity, AgentEntity } from '@muster/database';
import { runWhileRenewingLease } from '@muster/platform';
import { type Machine, MachineError, type MachineProvider, type MachineState } from '@muster/vm';
import { appendTimeline } from '@muster/timeline';
import { describeMachineWithinLimit, leaseMs, type MachineRow } from './machine-of';
import type { MachineParts } from './wake-machine';

export interface ControlLimits {
  /** Milliseconds within which a rebooted machine must report. */
  rebootTimeoutMs: number;
  /** Milliseconds after which a stop is ended as failed, even if the provider does not answer. */
  stopTimeoutMs: number;
}

/**
 * An order to a machine, with its progress. The agent's status determines whether the order is a stop, a reboot or a
 * termination.
 */
export interface Order
  extends
    MachineRow,
    Pick<AgentControlEntity, 'attempt' | 'error' | 'refusals'>,
    Pick<AgentEntity, 'statusSource' | 'previousStatus' | 'drain'> {
  /** Milliseconds since the agent has had its current status. */
  forMs: number;
  /** Milliseconds since the provider accepted the order; null if the provider has not accepted it yet. */
  issuedAgoMs: number | null;
  neverSeen: boolean;
}

export const describeLimitMs = 5000;

/**
 * Whether the machine's state shows that the provider has executed an earlier attempt. The provider's answer may have
 * been lost, or the state may have changed after the last check.
 */
export async function wasOrderExecuted(
  { attempt }: Order,
  provider: MachineProvider,
  machine: Machine,
  signs: MachineState[],
): Promise<boolean> {
  if (attempt === 1) return false;
  const found = await describeMachineWithinLimit(provider, machine, describeLimitMs);
  return found !== null && signs.includes(found.state);
}

export function runWithOrderLease<T>(
  { database }: MachineParts,
  { agentId, status, attempt }: Order,
  work: () => Promise<T>,
): Promise<T> {
  const renewOrderLease = async () => {
    await database.query(
      'system',
      `UPDATE agent_control SET next_try_at = muster_now() + $4 * interval '1 millisecond'
       WHERE agent_id = $1 AND status = $2 AND attempt = $3`,
      [agentId, status, attempt, leaseMs],
      'renew_control',
    );
  };
  return runWhileRenewingLease(renewOrderLease, work, leaseMs / 3);
}

/** Records that the provider accepted the order. If the agent has another order by now, nothing changes. */
export async function recordOrderIssued({ database }: MachineParts, { agentId, status }: Order): Promise<void> {
  await database.query(
    'system',
    'UPDATE agent_control SET issued_at = muster_now(), error = NULL, refusals = 0 WHERE agent_id = $1 AND status = $2',
    [agentId, status],
  );
}

/** Postpones the next attempt of the order, and records a new error on the timeline. */
export async function postponeOrder(
  { database }: MachineParts,
  order: Order,
  { delayMs, error = null, refused = false }: { delayMs: number; error?: string | null; refused?: boolean },
): Promise<void> {
  const { agentId, organizationId, status } = order;
  await database.transaction('system', async (tx) => {
    await tx.execute(
      `UPDATE agent_control
       SET next_try_at = muster_now() + $3 * interval '1 millisecond', error = COALESCE($4, error),
           refusals = CASE WHEN $5 THEN refusals + 1 ELSE refusals END
       WHERE agent_id = $1 AND status = $2`,
      [agentId, status, delayMs, error, refused],
    );
    if (!error || error === order.error) return;
    appendTimeline(tx, { organizationId, agentId }, [
      {
        kind: 'provisioning',
        level: 'warn',
        source: 'provider',
        message: `${status}: ${error} The service will try again.`,
      },
    ]);
  });
}

export function computeBackoffMs(attempt: number, maxMs = 60_000): number {
  return Math.min(1000 * 2 ** Math.min(attempt - 1, 30), maxMs);
}

export function isPermanentError(error: unknown): boolean {
  return error instanceof MachineError && error.isPermanent;
}

/** Whether the provider answered and refused the order. */
export function isRefusalByProvider(error: unknown): boolean {
  return error instanceof MachineError && error.fault !== 'unreachable';
}

export function describeProviderError(error: unknown): string {
  return error instanceof MachineError ? error.message : `The provider call failed: ${(error as Error).message}`;
}
