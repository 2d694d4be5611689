import { second, type SimulatedAgent } from './simulated-machines.harness';

/** Returns the duration of a boot: usually near the machine's usual time, and occasionally far slower. */
export function simulateBootDuration(
  { baseBootMs }: SimulatedAgent,
  random: () => number,
): { ms: number; isSlow: boolean } {
  const isSlow = random() < 0.02;
  return { ms: isSlow ? (130 + 70 * random()) * second : baseBootMs * (0.9 + 0.2 * random()), isSlow };
}

/**
 * Measures boots like `recordBootTime` in libs/machines: the 90th percentile of the last twenty wakes after which the
 * worker reported.
 */
export function recordBootDuration(agent: SimulatedAgent, tookMs: number): void {
  agent.boots = [tookMs, ...agent.boots].slice(0, 20);
  const sorted = agent.boots.toSorted((one, other) => one - other);
  const position = 0.9 * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(position)]!, sorted[Math.ceil(position)]!];
  agent.bootMs = Math.round(low + (high - low) * (position - Math.floor(position)));
}
