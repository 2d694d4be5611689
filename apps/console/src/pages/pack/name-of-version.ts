import type { PackVersion } from '../../api/generated';

/** A version as people speak of it. */
export function nameOfVersion({ number, label }: Pick<PackVersion, 'number' | 'label'>): string {
  return `Version ${number}${label ? ` (${label})` : ''}`;
}
