import type { IdleStopPolicy } from '@muster/contracts';
import { computePrewakeLeadMs } from '../life/boot-time';
import { chooseIdleLimit, stopMs } from './choose-idle-limit';

export interface PastIdle {
  lengthMs: number;
  /** Whether a run that a schedule launched ended the idle time. */
  scheduled: boolean;
  /** Milliseconds for which the machine was on during the idle time. */
  onMs: number;
  /** Whether the machine was off at the end of the idle time. */
  slept: boolean;
}

export interface ReplayFacts {
  policy: IdleStopPolicy;
  /** The machine's idle times before this one, in the form of `addIdleGap`. */
  gaps: readonly number[];
  limitMs: number;
  bootMs: number;
  prewake: boolean;
}

/**
 * Returns the milliseconds of machine time that the adaptive policy would have saved in an idle time, with the idle
 * times that were known then. If the adaptive policy was in effect, returns what it saved compared with the fixed
 * policy. Negative if the adaptive policy cost more.
 */
export function computeSavedMs(idle: PastIdle, facts: ReplayFacts): number {
  const { policy, gaps, limitMs, bootMs } = facts;
  const wasMs = computeUsedMachineMs(idle, facts);
  if (policy === 'adaptive') return computeMachineMsIfStoppedAfter(limitMs, idle, facts) - wasMs;
  const runInMs = idle.scheduled ? idle.lengthMs : null;
  return (
    wasMs - computeMachineMsIfStoppedAfter(chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }).limitMs, idle, facts)
  );
}

/**
 * Returns the milliseconds of machine time that were actually used: the time on, the stop, and the boot for the next
 * run.
 */
function computeUsedMachineMs({ lengthMs, onMs, slept }: PastIdle, { bootMs }: ReplayFacts): number {
  const wasOff = slept || lengthMs - onMs > 1000;
  return onMs + (wasOff ? stopMs : 0) + (slept ? bootMs : 0);
}

/**
 * Returns the milliseconds of machine time that would have been used if the machine had stopped after `stayMs`. Before
 * a scheduled run, the machine is on again shortly before the scheduled time.
 */
function computeMachineMsIfStoppedAfter(
  stayMs: number,
  { lengthMs, scheduled }: PastIdle,
  { bootMs, prewake }: ReplayFacts,
): number {
  if (lengthMs <= stayMs) return lengthMs;
  return stayMs + stopMs + (scheduled && prewake ? Math.min(computePrewakeLeadMs(bootMs), lengthMs - stayMs) : bootMs);
}
