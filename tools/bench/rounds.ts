import { sized } from './short';

/** What one round measured; `perSecond` is what the two are compared by. */
export interface Round {
  perSecond: number;
}

export interface Comparison<R extends Round> {
  floor: R[];
  subject: R[];
  /** The subject's rate as a part of the floor's, round by round. */
  ratios: number[];
}

/**
 * Floor and subject in turns, because a noisy machine is as noisy for both only when they run next to each other. The
 * first round of each warms up and does not count. In short there is one, and it counts.
 */
export async function inTurns<R extends Round>(
  rounds: number,
  floor: () => Promise<R>,
  subject: () => Promise<R>,
): Promise<Comparison<R>> {
  const result: Comparison<R> = { floor: [], subject: [], ratios: [] };
  const warmUps = sized(1, 0);
  for (let round = 0; round < warmUps + sized(rounds, 1); round += 1) {
    const [below, ours] = [await floor(), await subject()];
    if (round < warmUps) continue;
    result.floor.push(below);
    result.subject.push(ours);
    result.ratios.push(ours.perSecond / below.perSecond);
  }
  return result;
}

export function median(values: number[]): number {
  return percentile(values, 50);
}

/** The value below which that many percent lie; of few values the nearest one. */
export function percentile(values: number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!;
}
