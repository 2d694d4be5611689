import type { ImagingCompositeStatus } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import { readCommandStatus } from '../commands/read-command';
import { imagingKey } from './imaging-keys';

const urlLifetimeSeconds = 3600;

/** Returns the command's status, and after success the URL of its image. */
export async function readCompositeStatus(
  database: Database,
  storage: ObjectStorage,
  commandRef: { organizationId: string; agentId: string; commandId: string },
): Promise<ImagingCompositeStatus> {
  const status = await readCommandStatus(database, commandRef, ['imaging_composite']);
  if (status.status !== 'success') return status;
  // The key is computed here. A key in the worker's output is never signed.
  const urlOptions = { contentType: 'image/png', expiresInSeconds: urlLifetimeSeconds };
  const { organizationId, commandId: id } = commandRef;
  const command = { id, organizationId, kind: 'imaging_composite', patimageid: null } as const;
  const key = imagingKey(command, { name: 'composite' });
  const compositeUrl = await storage.presignGet(key, urlOptions).catch(() => null);
  return { ...status, compositeUrl };
}
