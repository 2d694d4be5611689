import type { PackVersion } from '../../api/generated';

/** Display name of a version. */
export function formatVersion({ number, label }: Pick<PackVersion, 'number' | 'label'>): string {
  return `Version ${number}${label ? ` (${label})` : ''}`;
}
