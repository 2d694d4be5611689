import { type Comparison, median, type Round } from './rounds';

export interface Benchmark {
  name: string;
  /** Minimum ratio of the measured rate to that of the floor, the minimal program for comparison. */
  goal: number;
  unit: string;
}

/**
 * Prints the ratio with its spread, and whether the goal is met. A missed goal is not an error, because machines
 * differ.
 */
export function report(
  { name, goal, unit }: Benchmark,
  { floor, subject, ratios }: Comparison<Round>,
  more: [name: string, floor: string, subject: string][],
): void {
  const ratio = median(ratios);
  const rate = (rounds: Round[]) => `${Math.round(median(rounds.map(({ perSecond }) => perSecond)))} ${unit}/s`;
  const rows = [['', 'floor', 'muster'], ['throughput', rate(floor), rate(subject)], ...more];
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const lines = [
    `${name}: ${ratio.toFixed(2)} of the floor (median of ${ratios.length} rounds, ${spread}); goal ${goal}: ${ratio >= goal ? 'met' : 'not met'}`,
    ...rows.map(([label, below, muster]) => `  ${label!.padEnd(28)}  ${below!.padStart(20)}  ${muster!.padStart(20)}`),
  ];
  console.log(`${lines.join('\n')}\n`);
}

export function milliseconds(value: number): string {
  return `${value.toFixed(2)} ms`;
}
