/** Maximum number of idle times that are used. Older ones have too little weight to matter. */
export const maxGaps = 64;

/**
 * Returns a machine's idle times with a new one in front. An idle time that ended with a scheduled run has a negative
 * number.
 */
export function addIdleGap(gaps: readonly number[], { ms, scheduled }: { ms: number; scheduled: boolean }): number[] {
  const whole = Math.max(1, Math.round(ms));
  return [scheduled ? -whole : whole, ...gaps].slice(0, maxGaps);
}

export interface HabitFacts {
  /**
   * The machine's last idle times in milliseconds, newest first. An idle time that ended with a scheduled run is
   * negative.
   */
  gaps: readonly number[];
  /** The organization's idle limit in milliseconds. */
  limitMs: number;
  bootMs: number;
  /** Milliseconds from the start of the idle time until the next scheduled run; null if no run is scheduled. */
  runInMs: number | null;
}

export interface IdleChoice {
  /** The chosen idle limit: milliseconds for which the machine stays on without work. */
  limitMs: number;
  /**
   * Milliseconds within which half of the unscheduled runs arrived; null if that is longer than the organization's
   * limit.
   */
  usualMs: number | null;
  /** Number of idle times on which the choice is based. */
  learnedFrom: number;
}

/** Machine time in milliseconds that stopping a machine takes; the next boot is counted separately. */
export const stopMs = 30_000;
/** Seconds of machine time that cost as much as one second in which a person waits for a machine. */
const waitWeight = 6;
/** Weight of an idle time divided by the weight of the next newer idle time. */
const decay = 0.97;
/** Minimum number of idle times with which the cheapest limit is computed; with fewer, `firstLimitMs` applies. */
const minGaps = 5;
const firstLimitMs = 5 * 60_000;

/**
 * Chooses how long a machine stays on without work. Each past idle time is a sample of how long the current one may
 * last. Newer samples have more weight, and no sample lasts longer than until the next scheduled run. Of all possible
 * stop times, the one with the lowest expected cost is chosen. If the next run arrives before the stop, the cost is the
 * machine time until the run. Otherwise it is the machine time until the stop and that of another start. Before an
 * unscheduled run, the cost of another start includes the time for which a person waits.
 */
export function chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }: HabitFacts): IdleChoice {
  const wakeMs = bootMs + stopMs;
  const coldMs = wakeMs + waitWeight * bootMs;
  // An idle time that a scheduled run ended shows only that no other run arrived before. It is left out if it was
  // shorter than the limit, and otherwise counts as endless.
  const samples = gaps.flatMap((gap, at) =>
    gap < 0 && -gap < limitMs ? [] : [{ ms: gap < 0 ? Infinity : gap, weight: decay ** at }],
  );
  const usualMs = computeWeightedMedian(samples, limitMs);
  const learnedFrom = samples.length;
  if (samples.length < minGaps) {
    const limit = Math.min(limitMs, firstLimitMs);
    const isWorthIt = runInMs !== null && runInMs <= limitMs && runInMs - limit <= wakeMs;
    return { limitMs: isWorthIt ? Math.max(limit, runInMs) : limit, usualMs, learnedFrom };
  }
  const computeCost = (stopAfterMs: number) => {
    let cost = 0;
    for (const { ms, weight } of samples) {
      const comesMs = Math.min(ms, runInMs ?? Infinity);
      const isRun = runInMs !== null && runInMs <= ms;
      cost += weight * (comesMs <= stopAfterMs ? comesMs : stopAfterMs + (isRun ? wakeMs : coldMs));
    }
    return cost;
  };
  let best = { limitMs: 0, cost: computeCost(0) };
  for (const ms of [...samples.map((gap) => gap.ms), ...(runInMs === null ? [] : [runInMs])]) {
    if (ms > limitMs) continue;
    const cost = computeCost(ms);
    if (cost < best.cost) best = { limitMs: ms, cost };
  }
  return { limitMs: best.limitMs, usualMs, learnedFrom };
}

function computeWeightedMedian(samples: { ms: number; weight: number }[], limitMs: number): number | null {
  const half = samples.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { ms, weight } of samples.toSorted((one, other) => one.ms - other.ms)) {
    sum += weight;
    if (sum >= half) return ms <= limitMs ? ms : null;
  }
  return null;
}
