import type { ImagingObjectName } from '@muster/contracts';

export interface ImagingCommand {
  id: string;
  organizationId: string;
  kind: 'imaging_images' | 'imaging_composite';
  /** The patient of the images; the key of a composite names no patient. */
  patimageid: string | null;
}

/**
 * Returns the storage key of an image that a command creates. The service chooses the key and never the worker, because
 * the key contains the organization.
 */
export function buildImagingKey(
  command: ImagingCommand,
  object: { name: ImagingObjectName; ordinal?: number },
): string {
  const { id, organizationId, patimageid } = command;
  if (object.name === 'composite') return `imaging/comp/${organizationId}/${id}.png`;
  const variant = object.name === 'full' ? 'full' : 'thumb';
  return `imaging/${patimageid}/${organizationId}/${id}/${object.ordinal}-${variant}.jpg`;
}
