import type { MachineState } from '@muster/vm';
import { finishOrder } from './finish-order';
import { describeMachineWithinLimit, toProviderMachine } from './machine-of';
import {
  computeBackoffMs,
  type ControlLimits,
  describeLimitMs,
  runWithOrderLease,
  isPermanentError,
  recordOrderIssued,
  wasOrderExecuted,
  postponeOrder,
  type Order,
  describeProviderError,
} from './machine-order';
import type { MachineParts } from './wake-machine';

/** Executes one step of a machine's reboot: orders it, checks it, or ends it. */
export async function rebootMachine(
  parts: MachineParts,
  order: Order,
  { rebootTimeoutMs }: Pick<ControlLimits, 'rebootTimeoutMs'>,
): Promise<void> {
  const { machines, keyRing, clock } = parts;
  const { issuedAgoMs, forMs } = order;
  const provider = machines.get(order.provider);
  const machine = toProviderMachine(order, keyRing, clock);
  if (issuedAgoMs !== null ? issuedAgoMs >= rebootTimeoutMs : forMs >= rebootTimeoutMs) {
    const found = await describeMachineWithinLimit(provider, machine, describeLimitMs);
    const reason = order.error ?? 'The machine did not report after its reboot.';
    return finishOrder(parts, order, { reason, state: found?.state, failed: true });
  }
  if (issuedAgoMs !== null) return postponeOrder(parts, order, { delayMs: rebootTimeoutMs - issuedAgoMs });
  try {
    // A machine that is stopping usually shows that its reboot has started, but not if the agent was already stopping
    // before the reboot.
    const signs: MachineState[] = order.previousStatus === 'stopping' ? ['starting'] : ['starting', 'stopping'];
    if (!(await wasOrderExecuted(order, provider, machine, signs))) {
      await runWithOrderLease(parts, order, () => provider.reboot(machine));
    }
    await recordOrderIssued(parts, order);
    // The handshake of the new boot normally ends the order. This check ends the order if no handshake arrives.
    await postponeOrder(parts, order, { delayMs: rebootTimeoutMs });
  } catch (error) {
    const reason = describeProviderError(error);
    if (isPermanentError(error)) return finishOrder(parts, order, { reason, failed: true });
    const delayMs = Math.min(computeBackoffMs(order.attempt), Math.max(rebootTimeoutMs - forMs, 100));
    await postponeOrder(parts, order, { delayMs, error: reason });
  }
}
