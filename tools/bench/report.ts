import { type Comparison, median, type Round } from './rounds';

export interface Benchmark {
  name: string;
  /** The part of the floor's rate that we want to reach. */
  goal: number;
  unit: string;
}

/** The ratio with its spread, and whether the goal is met. A measurement fails nobody: machines differ. */
export function report(
  { name, goal, unit }: Benchmark,
  { floor, subject, ratios }: Comparison<Round>,
  more: [what: string, floor: string, subject: string][],
): void {
  const ratio = median(ratios);
  const rate = (rounds: Round[]) => `${Math.round(median(rounds.map(({ perSecond }) => perSecond)))} ${unit}/s`;
  const rows = [['', 'floor', 'muster'], ['throughput', rate(floor), rate(subject)], ...more];
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const lines = [
    `${name}: ${ratio.toFixed(2)} of the floor (median of ${ratios.length} rounds, ${spread}); goal ${goal}: ${ratio >= goal ? 'met' : 'not met'}`,
    ...rows.map(([what, below, ours]) => `  ${what!.padEnd(28)}  ${below!.padStart(20)}  ${ours!.padStart(20)}`),
  ];
  console.log(`${lines.join('\n')}\n`);
}

export function milliseconds(value: number): string {
  return `${value.toFixed(2)} ms`;
}
