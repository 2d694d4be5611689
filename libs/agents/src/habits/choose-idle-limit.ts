/** Maximum number of idle times that are used: older ones are not significant. */
export const maxGaps = 64;

/** Returns a machine's idle times with one more. An idle time that a schedule ended is negative. */
export function addIdleGap(gaps: readonly number[], { ms, scheduled }: { ms: number; scheduled: boolean }): number[] {
  const whole = Math.max(1, Math.round(ms));
  return [scheduled ? -whole : whole, ...gaps].slice(0, maxGaps);
}

export interface HabitFacts {
  /** The last idle times in milliseconds, newest first; one that a schedule ended is negative. */
  gaps: readonly number[];
  /** The organization's idle limit. */
  limitMs: number;
  bootMs: number;
  /** Milliseconds from the start of the idle time until the next scheduled run; null if there is none. */
  runInMs: number | null;
}

export interface IdleChoice {
  /** How long the machine stays on without work. */
  limitMs: number;
  /** Time within which half of the unscheduled runs arrived; null if most took longer than the limit. */
  usualMs: number | null;
  /** Number of idle times that the choice is based on. */
  learnedFrom: number;
}

/** Machine time in milliseconds that a stop costs, in addition to the next boot. */
export const stopMs = 30_000;
/** Cost of one second for which a person waits for a machine, in seconds of machine time. */
const waitWeight = 6;
/** Weight of an idle time relative to the next newer one. */
const decay = 0.97;
/** Minimum number of idle times for a choice by cost. */
const minGaps = 5;
const firstLimitMs = 5 * 60_000;

/**
 * Chooses how long a machine stays on without work. Each past idle time is one possible length of the current one,
 * newer ones with more weight, and none is longer than the time until the next scheduled run. Of all possible stop
 * times the cheapest is chosen. Its cost is the machine time until the next run, or until the stop plus the cost of
 * another start. For an unscheduled run that includes a person's waiting time.
 */
export function chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }: HabitFacts): IdleChoice {
  const wakeMs = bootMs + stopMs;
  const coldMs = wakeMs + waitWeight * bootMs;
  // An idle time that a schedule ended only shows that no other run arrived before.
  const samples = gaps.flatMap((gap, at) =>
    gap < 0 && -gap < limitMs ? [] : [{ ms: gap < 0 ? Infinity : gap, weight: decay ** at }],
  );
  const usualMs = medianOf(samples, limitMs);
  const learnedFrom = samples.length;
  if (samples.length < minGaps) {
    const limit = Math.min(limitMs, firstLimitMs);
    const isWorthIt = runInMs !== null && runInMs <= limitMs && runInMs - limit <= wakeMs;
    return { limitMs: isWorthIt ? Math.max(limit, runInMs) : limit, usualMs, learnedFrom };
  }
  const costOf = (stopAfterMs: number) => {
    let cost = 0;
    for (const { ms, weight } of samples) {
      const comesMs = Math.min(ms, runInMs ?? Infinity);
      const isRun = runInMs !== null && runInMs <= ms;
      cost += weight * (comesMs <= stopAfterMs ? comesMs : stopAfterMs + (isRun ? wakeMs : coldMs));
    }
    return cost;
  };
  let best = { limitMs: 0, cost: costOf(0) };
  for (const ms of [...samples.map((gap) => gap.ms), ...(runInMs === null ? [] : [runInMs])]) {
    if (ms > limitMs) continue;
    const cost = costOf(ms);
    if (cost < best.cost) best = { limitMs: ms, cost };
  }
  return { limitMs: best.limitMs, usualMs, learnedFrom };
}

function medianOf(samples: { ms: number; weight: number }[], limitMs: number): number | null {
  const half = samples.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { ms, weight } of samples.toSorted((one, other) => one.ms - other.ms)) {
    sum += weight;
    if (sum >= half) return ms <= limitMs ? ms : null;
  }
  return null;
}
