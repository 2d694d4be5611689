import type { ImagingCompositeStatus } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import { readCommandStatus } from '../ends/read-command';
import { buildImagingKey } from './imaging-keys';

const urlLifetimeSeconds = 3600;

/** Returns the command's status, and after its success the URL of the composite image. */
export async function readCompositeStatus(
  database: Database,
  storage: ObjectStorage,
  commandRef: { organizationId: string; agentId: string; commandId: string },
): Promise<ImagingCompositeStatus> {
  const status = await readCommandStatus(database, commandRef, ['imaging_composite']);
  if (status.status !== 'success') return status;
  // The key is computed here and not read from the worker's output, so that no key of the worker is ever signed.
  const urlOptions = { contentType: 'image/png', expiresInSeconds: urlLifetimeSeconds };
  const { organizationId, commandId: id } = commandRef;
  const command = { id, organizationId, kind: 'imaging_composite', patimageid: null } as const;
  const key = buildImagingKey(command, { name: 'composite' });
  const compositeUrl = await storage.presignGet(key, urlOptions).catch(() => null);
  return { ...status, compositeUrl };
}
