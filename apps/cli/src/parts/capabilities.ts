import type { Agent } from '@muster/sdk';

/** Lists the capabilities that a machine has, and those that it lacks, with details. Null if a list is empty. */
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
