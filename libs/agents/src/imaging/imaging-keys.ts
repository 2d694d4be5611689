import type { ImagingObjectName } from '@muster/contracts';

export interface ImagingCommand {
  id: string;
  organizationId: string;
  kind: 'imaging_images' | 'imaging_composite';
  /** Of the images' patient; a composite's key names nobody. */
  patimageid: string | null;
}

export const imagingKinds = ['imaging_images', 'imaging_composite'] as const;

/** Where a picture of a command lies. Chosen here and never by a worker: a key has its organization in it. */
export function imagingKey(command: ImagingCommand, object: { name: ImagingObjectName; ordinal?: number }): string {
  const { id, organizationId, patimageid } = command;
  if (object.name === 'composite') return `imaging/comp/${organizationId}/${id}.png`;
  const variant = object.name === 'full' ? 'full' : 'thumb';
  return `imaging/${patimageid}/${organizationId}/${id}/${object.ordinal}-${variant}.jpg`;
}
