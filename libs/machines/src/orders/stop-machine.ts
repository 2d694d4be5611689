import type { MachineDescription } from '@muster/vm';
import { finishOrder } from './finish-order';
import { describeWithin, machineOf } from './machine-of';
import {
  backoffMs,
  type ControlLimits,
  describeLimitMs,
  withLease,
  isPermanent,
  isRefusal,
  recordIssued,
  wasExecuted,
  postpone,
  type Order,
  reasonOf,
} from './machine-order';
import type { MachineParts } from './wake-machine';

/** Milliseconds after which a stop is ordered again if the provider accepted it but the machine is still on. */
const repeatMs = 60_000;
const pollIntervalMs = 500;
/**
 * Number of refusals after which a stop fails; the attempts are made after 0, 1 and 3 s. Queued jobs must not wait
 * longer for a machine that the provider does not stop.
 */
const refusalsUntilFailed = 3;

/** Executes one step of a stop. */
export async function stopMachine(
  parts: MachineParts,
  order: Order,
  { stopTimeoutMs }: Pick<ControlLimits, 'stopTimeoutMs'>,
): Promise<void> {
  const { machines, keyRing, clock } = parts;
  const { issuedAgoMs, forMs, refusals, attempt } = order;
  const provider = machines.get(order.provider);
  const machine = machineOf(order, keyRing, clock);
  let found: MachineDescription | null = null;
  const leftMs = Math.max(stopTimeoutMs - forMs, 0);
  const giveUp = (reason: string) =>
    finishOrder(parts, order, { reason: `It could not be stopped: ${reason}`, state: found?.state, failed: true });
  try {
    if (issuedAgoMs === null || issuedAgoMs > repeatMs) {
      if (!(await wasExecuted(order, provider, machine, ['stopping', 'stopped', 'gone']))) {
        await withLease(parts, order, () => provider.stop(machine));
      }
      await recordIssued(parts, order);
    }
    found = await describeWithin(provider, machine, describeLimitMs);
    if (found?.state === 'stopped' || found?.state === 'gone') {
      return await finishOrder(parts, order, { reason: 'the machine has stopped', state: found.state });
    }
    if (leftMs === 0) return await giveUp(`its state is still ${found?.state ?? 'unknown'}.`);
    await postpone(parts, order, { delayMs: Math.min(pollIntervalMs, leftMs) });
  } catch (error) {
    const reason = reasonOf(error);
    const refused = isRefusal(error);
    if (isPermanent(error) || leftMs === 0 || (refused && refusals + 1 >= refusalsUntilFailed)) return giveUp(reason);
    const pauseMs = refused ? backoffMs(refusals + 1) : backoffMs(attempt);
    await postpone(parts, order, { delayMs: Math.min(pauseMs, leftMs), error: reason, refused });
  }
}
