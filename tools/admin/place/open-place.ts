import { resolve } from 'node:path';
import type { Environment } from '@muster/platform';
import { createStorage } from '../installation';
import { BucketPlace } from './bucket-place';
import { FolderPlace } from './folder-place';
import type { Place } from './place';

/** Opens `s3://bucket/prefix` or a folder. For a bucket, BACKUP_S3_* override S3_*. */
export function openBackupLocation(
  text: string,
  environment: Environment,
): { place: Place; close: () => Promise<void> } {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(text) ?? [];
  if (!bucket) return { place: new FolderPlace(resolve(text)), close: async () => undefined };
  const own = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith('BACKUP_S3_') ? [[name.slice('BACKUP_'.length), value]] : [],
    ),
  );
  const storage = createStorage({ ...environment, ...own, S3_BUCKET: bucket });
  return {
    place: new BucketPlace(text, storage, prefix && `${prefix}/`),
    close: () => storage.onApplicationShutdown(),
  };
}
