import type { Agent } from '@muster/sdk';

/** Lists which requirements of commands a machine has, and which it lacks and why. Null if there are none to list. */
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
