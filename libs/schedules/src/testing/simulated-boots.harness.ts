import { second, type SimulatedAgent } from './simulated-machines.harness';

/** A machine boots much as it did before, now and then far slower. */
export function bootOf({ baseBootMs }: SimulatedAgent, random: () => number): { ms: number; isSlow: boolean } {
  const isSlow = random() < 0.02;
  return { ms: isSlow ? (130 + 70 * random()) * second : baseBootMs * (0.9 + 0.2 * random()), isSlow };
}

/** As measureBoot has it measured: nine of ten of the last twenty wakes that had it report. */
export function measureBoot(agent: SimulatedAgent, tookMs: number): void {
  agent.boots = [tookMs, ...agent.boots].slice(0, 20);
  const sorted = agent.boots.toSorted((one, other) => one - other);
  const place = 0.9 * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  agent.bootMs = Math.round(low + (high - low) * (place - Math.floor(place)));
}
