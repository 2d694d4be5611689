import type { Agent } from '@muster/sdk';

/**
 * Returns two rows: the capabilities that the machine has, and the capabilities that it lacks, with details. The second
 * element of a row is null if it lists none.
 */
export function formatCapabilities(capabilities: Agent['capabilities']): [string, string | null][] {
  const formatNames = (available: boolean) =>
    (capabilities ?? [])
      .filter((each) => each.available === available)
      .map(({ name, detail }) => (detail ? `${name} (${detail})` : name))
      .join(', ') || null;
  return [
    ['has', formatNames(true)],
    ['lacks', formatNames(false)],
  ];
}
