import { chooseSize } from './short';

/** Result of one round. The two sides are compared by `perSecond`. */
export interface Round {
  perSecond: number;
}

export interface Comparison<R extends Round> {
  baseline: R[];
  subject: R[];
  /**
   * For each round, the ratio of the measured program's rate to that of the baseline, the minimal program for
   * comparison.
   */
  ratios: number[];
}

/**
 * Runs the baseline (the minimal program for comparison) and the measured program alternately: noise of the machine
 * affects both equally only if they run right after each other. The first round is a warm-up and does not count. The
 * short form has a single round, which counts.
 */
export async function runInTurns<R extends Round>(
  rounds: number,
  baseline: () => Promise<R>,
  subject: () => Promise<R>,
): Promise<Comparison<R>> {
  const result: Comparison<R> = { baseline: [], subject: [], ratios: [] };
  const warmUps = chooseSize(1, 0);
  for (let round = 0; round < warmUps + chooseSize(rounds, 1); round += 1) {
    const [below, above] = [await baseline(), await subject()];
    if (round < warmUps) continue;
    result.baseline.push(below);
    result.subject.push(above);
    result.ratios.push(above.perSecond / below.perSecond);
  }
  return result;
}

export function computeMedian(values: number[]): number {
  return computePercentile(values, 50);
}

/** Returns the value below which `percent` percent of the values are. With few values, the nearest value. */
export function computePercentile(values: number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!;
}
