import type { MachineDescription } from '@muster/vm';
import { finishOrder } from './finish-order';
import { describeMachineWithinLimit, toProviderMachine } from './machine-of';
import {
  computeBackoffMs,
  type ControlLimits,
  describeLimitMs,
  runWithOrderLease,
  isPermanentError,
  isRefusalByProvider,
  recordOrderIssued,
  wasOrderExecuted,
  postponeOrder,
  type Order,
  describeProviderError,
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

/** Executes one step of a machine's stop: orders it, checks it, or ends it. */
export async function stopMachine(
  parts: MachineParts,
  order: Order,
  { stopTimeoutMs }: Pick<ControlLimits, 'stopTimeoutMs'>,
): Promise<void> {
  const { machines, keyRing, clock } = parts;
  const { issuedAgoMs, forMs, refusals, attempt } = order;
  const provider = machines.get(order.provider);
  const machine = toProviderMachine(order, keyRing, clock);
  let found: MachineDescription | null = null;
  const leftMs = Math.max(stopTimeoutMs - forMs, 0);
  const finishAsFailed = (reason: string) =>
    finishOrder(parts, order, { reason: `It could not be stopped: ${reason}`, state: found?.state, failed: true });
  try {
    if (issuedAgoMs === null || issuedAgoMs > repeatMs) {
      if (!(await wasOrderExecuted(order, provider, machine, ['stopping', 'stopped', 'gone']))) {
        await runWithOrderLease(parts, order, () => provider.stop(machine));
      }
      await recordOrderIssued(parts, order);
    }
    found = await describeMachineWithinLimit(provider, machine, describeLimitMs);
    if (found?.state === 'stopped' || found?.state === 'gone') {
      return await finishOrder(parts, order, { reason: 'the machine has stopped', state: found.state });
    }
    if (leftMs === 0) return await finishAsFailed(`its state is still ${found?.state ?? 'unknown'}.`);
    await postponeOrder(parts, order, { delayMs: Math.min(pollIntervalMs, leftMs) });
  } catch (error) {
    const reason = describeProviderError(error);
    const refused = isRefusalByProvider(error);
    if (isPermanentError(error) || leftMs === 0 || (refused && refusals + 1 >= refusalsUntilFailed))
      return finishAsFailed(reason);
    const pauseMs = refused ? computeBackoffMs(refusals + 1) : computeBackoffMs(attempt);
    await postponeOrder(parts, order, { delayMs: Math.min(pauseMs, leftMs), error: reason, refused });
  }
}
