import type { IdleStopPolicy } from '@muster/contracts';
import { prewakeLeadMs } from '../lifecycle/boot-time';
import { chooseIdleLimit, stopMs } from './choose-idle-limit';

/** An idle time as it was. */
export interface PastIdle {
  lengthMs: number;
  /** A schedule ended it. */
  scheduled: boolean;
  /** For how long its machine was on in it. */
  onMs: number;
  /** Its machine was off when it ended. */
  slept: boolean;
}

export interface ReplayFacts {
  policy: IdleStopPolicy;
  /** The idle times before it, as keptGaps writes them. */
  gaps: readonly number[];
  limitMs: number;
  bootMs: number;
  prewake: boolean;
}

/**
 * What adaptive would have saved of the machine's time in an idle time, by the decision that it would have taken then;
 * where it was adaptive that held, what it has saved against fixed. Less than nothing where it was dearer.
 */
export function savedMsOf(idle: PastIdle, facts: ReplayFacts): number {
  const { policy, gaps, limitMs, bootMs } = facts;
  const wasMs = spentMs(idle, facts);
  if (policy === 'adaptive') return ranMs(limitMs, idle, facts) - wasMs;
  const runInMs = idle.scheduled ? idle.lengthMs : null;
  return wasMs - ranMs(chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }).limitMs, idle, facts);
}

/** What it took in truth: what it was on for, its stop, and the boot that its next run began with. */
function spentMs({ lengthMs, onMs, slept }: PastIdle, { bootMs }: ReplayFacts): number {
  const wasOff = slept || lengthMs - onMs > 1000;
  return onMs + (wasOff ? stopMs : 0) + (slept ? bootMs : 0);
}

/** What it would have taken with a stop after so long. A schedule's machine is on again a little before its time. */
function ranMs(stayMs: number, { lengthMs, scheduled }: PastIdle, { bootMs, prewake }: ReplayFacts): number {
  if (lengthMs <= stayMs) return lengthMs;
  return stayMs + stopMs + (scheduled && prewake ? Math.min(prewakeLeadMs(bootMs), lengthMs - stayMs) : bootMs);
}
