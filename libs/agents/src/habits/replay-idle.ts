import type { IdleStopPolicy } from '@muster/contracts';
import { prewakeLeadMs } from '../lifecycle/boot-time';
import { chooseIdleLimit, stopMs } from './choose-idle-limit';

/** A past idle time. */
export interface PastIdle {
  lengthMs: number;
  /** Whether a schedule's run ended the idle time. */
  scheduled: boolean;
  /** How long the machine was on during the idle time. */
  onMs: number;
  /** Whether the machine was off at its end. */
  slept: boolean;
}

export interface ReplayFacts {
  policy: IdleStopPolicy;
  /** The idle times before it, as `addIdleGap` writes them. */
  gaps: readonly number[];
  limitMs: number;
  bootMs: number;
  prewake: boolean;
}

/**
 * Returns the machine time that the adaptive policy would have saved in an idle time, by the decision that it would
 * have made then. If the adaptive policy was in effect, returns what it saved compared with the fixed one. Negative if
 * it cost more.
 */
export function savedMsOf(idle: PastIdle, facts: ReplayFacts): number {
  const { policy, gaps, limitMs, bootMs } = facts;
  const wasMs = spentMs(idle, facts);
  if (policy === 'adaptive') return ranMs(limitMs, idle, facts) - wasMs;
  const runInMs = idle.scheduled ? idle.lengthMs : null;
  return wasMs - ranMs(chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }).limitMs, idle, facts);
}

/** Returns the machine time that was actually used: the time on, the stop, and the boot for the next run. */
function spentMs({ lengthMs, onMs, slept }: PastIdle, { bootMs }: ReplayFacts): number {
  const wasOff = slept || lengthMs - onMs > 1000;
  return onMs + (wasOff ? stopMs : 0) + (slept ? bootMs : 0);
}

/**
 * Returns the machine time that would have been used if the machine had stopped after `stayMs`. For a scheduled run,
 * the machine is on again shortly before the scheduled time.
 */
function ranMs(stayMs: number, { lengthMs, scheduled }: PastIdle, { bootMs, prewake }: ReplayFacts): number {
  if (lengthMs <= stayMs) return lengthMs;
  return stayMs + stopMs + (scheduled && prewake ? Math.min(prewakeLeadMs(bootMs), lengthMs - stayMs) : bootMs);
}
