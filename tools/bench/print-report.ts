import { type Comparison, computeMedian, type Round } from './rounds';

export interface Benchmark {
  name: string;
  /** Minimum ratio of the measured rate to that of the baseline, the minimal program for comparison. */
  target: number;
  unit: string;
}

/**
 * Prints the ratio with its spread, and whether the target is met. A missed target is not an error, because machines
 * differ.
 */
export function printReport(
  { name, target, unit }: Benchmark,
  { baseline, subject, ratios }: Comparison<Round>,
  more: [name: string, baseline: string, subject: string][],
): void {
  const ratio = computeMedian(ratios);
  const computeMedianRate = (rounds: Round[]) =>
    `${Math.round(computeMedian(rounds.map(({ perSecond }) => perSecond)))} ${unit}/s`;
  const rows = [
    ['', 'baseline', 'muster'],
    ['throughput', computeMedianRate(baseline), computeMedianRate(subject)],
    ...more,
  ];
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const lines = [
    `${name}: ${ratio.toFixed(2)} of the baseline (median of ${ratios.length} rounds, ${spread}); target ${target}: ${ratio >= target ? 'met' : 'not met'}`,
    ...rows.map(([label, below, muster]) => `  ${label!.padEnd(28)}  ${below!.padStart(20)}  ${muster!.padStart(20)}`),
  ];
  console.log(`${lines.join('\n')}\n`);
}

export function formatMilliseconds(value: number): string {
  return `${value.toFixed(2)} ms`;
}
