import type { MachineState } from '@muster/vm';
import { finishOrder } from './finish-order';
import { describeWithin, machineOf } from './machine-of';
import {
  backoffMs,
  type ControlLimits,
  describeLimitMs,
  withLease,
  isPermanent,
  recordIssued,
  wasExecuted,
  postpone,
  type Order,
  reasonOf,
} from './machine-order';
import type { MachineParts } from './wake-machine';

/** Executes one step of a reboot. */
export async function rebootMachine(
  parts: MachineParts,
  order: Order,
  { rebootTimeoutMs }: Pick<ControlLimits, 'rebootTimeoutMs'>,
): Promise<void> {
  const { machines, keyRing, clock } = parts;
  const { issuedAgoMs, forMs } = order;
  const provider = machines.get(order.provider);
  const machine = machineOf(order, keyRing, clock);
  if (issuedAgoMs !== null ? issuedAgoMs >= rebootTimeoutMs : forMs >= rebootTimeoutMs) {
    const found = await describeWithin(provider, machine, describeLimitMs);
    const reason = order.error ?? 'The machine did not report after its reboot.';
    return finishOrder(parts, order, { reason, state: found?.state, failed: true });
  }
  if (issuedAgoMs !== null) return postpone(parts, order, { delayMs: rebootTimeoutMs - issuedAgoMs });
  try {
    // If the agent was stopping before the reboot, a machine that is stopping does not prove that the reboot has
    // started.
    const signs: MachineState[] = order.previousStatus === 'stopping' ? ['starting'] : ['starting', 'stopping'];
    if (!(await wasExecuted(order, provider, machine, signs))) {
      await withLease(parts, order, () => provider.reboot(machine));
    }
    await recordIssued(parts, order);
    // The handshake of the new boot normally ends the order. This check ends the order if no handshake arrives.
    await postpone(parts, order, { delayMs: rebootTimeoutMs });
  } catch (error) {
    const reason = reasonOf(error);
    if (isPermanent(error)) return finishOrder(parts, order, { reason, failed: true });
    const delayMs = Math.min(backoffMs(order.attempt), Math.max(rebootTimeoutMs - forMs, 100));
    await postpone(parts, order, { delayMs, error: reason });
  }
}
