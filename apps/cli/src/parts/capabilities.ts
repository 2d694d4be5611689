import type { Agent } from '@muster/sdk';

/** What a machine has of what commands need, and what it lacks with the reason; null where its worker did not say. */
export function capabilityLines(capabilities: Agent['capabilities']): [string, string | null][] {
  const lines = (available: boolean) =>
    (capabilities ?? [])
      .filter((each) => each.available === available)
      .map(({ name, detail }) => (detail ? `${name} (${detail})` : name))
      .join(', ') || null;
  return [
    ['has', lines(true)],
    ['lacks', lines(false)],
  ];
}
