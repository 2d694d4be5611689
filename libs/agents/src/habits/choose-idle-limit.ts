/** So many of a machine's idle times are remembered: what is older says little, and its row does not grow. */
export const mostGaps = 64;

/** A machine's idle times with one more; one that a schedule ended is written as less than nothing. */
export function keptGaps(gaps: readonly number[], { ms, scheduled }: { ms: number; scheduled: boolean }): number[] {
  const whole = Math.max(1, Math.round(ms));
  return [scheduled ? -whole : whole, ...gaps].slice(0, mostGaps);
}

export interface HabitFacts {
  /** Its last idle times in milliseconds, newest first; one that a schedule ended is less than nothing. */
  gaps: readonly number[];
  /** As long as the organization allows. */
  limitMs: number;
  bootMs: number;
  /** From the beginning of its idle time until a run that is known to come; null where none is. */
  runInMs: number | null;
}

export interface IdleChoice {
  /** How long it is to stay on without work. */
  limitMs: number;
  /** Within which time half of its runs came that nobody scheduled; null where most took longer than the limit. */
  usualMs: number | null;
  /** How many idle times it was learned from. */
  learnedFrom: number;
}

/** What a stop costs of the machine's time beside the boot that follows. */
export const stopMs = 30_000;
/** What a second costs for which a person waits for a machine, in seconds of the machine. */
const waitWeight = 6;
/** What an idle time is worth beside the one after it. */
const decay = 0.97;
/** With fewer it is not a habit yet. */
const leastGaps = 5;
const firstLimitMs = 5 * 60_000;

/**
 * How long to stay on: each idle time of before is taken as one that may come again, the newer the likelier, cut short
 * by the run that is known to come. Of all the times at which it could be stopped the cheapest holds: machine time until
 * the next run, or until the stop and what another start costs, waiting included. Who waits for a schedule is nobody.
 */
export function chooseIdleLimit({ gaps, limitMs, bootMs, runInMs }: HabitFacts): IdleChoice {
  const wakeMs = bootMs + stopMs;
  const coldMs = wakeMs + waitWeight * bootMs;
  // What a schedule ended says only that no other run came until then.
  const known = gaps.flatMap((gap, at) =>
    gap < 0 && -gap < limitMs ? [] : [{ ms: gap < 0 ? Infinity : gap, weight: decay ** at }],
  );
  const usualMs = medianOf(known, limitMs);
  const learnedFrom = known.length;
  if (known.length < leastGaps) {
    const limit = Math.min(limitMs, firstLimitMs);
    const isWorthIt = runInMs !== null && runInMs <= limitMs && runInMs - limit <= wakeMs;
    return { limitMs: isWorthIt ? Math.max(limit, runInMs) : limit, usualMs, learnedFrom };
  }
  const costOf = (stopAfterMs: number) => {
    let cost = 0;
    for (const { ms, weight } of known) {
      const comesMs = Math.min(ms, runInMs ?? Infinity);
      const isRun = runInMs !== null && runInMs <= ms;
      cost += weight * (comesMs <= stopAfterMs ? comesMs : stopAfterMs + (isRun ? wakeMs : coldMs));
    }
    return cost;
  };
  let best = { limitMs: 0, cost: costOf(0) };
  for (const ms of [...known.map((gap) => gap.ms), ...(runInMs === null ? [] : [runInMs])]) {
    if (ms > limitMs) continue;
    const cost = costOf(ms);
    if (cost < best.cost) best = { limitMs: ms, cost };
  }
  return { limitMs: best.limitMs, usualMs, learnedFrom };
}

function medianOf(known: { ms: number; weight: number }[], limitMs: number): number | null {
  const half = known.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { ms, weight } of known.toSorted((one, other) => one.ms - other.ms)) {
    sum += weight;
    if (sum >= half) return ms <= limitMs ? ms : null;
  }
  return null;
}
