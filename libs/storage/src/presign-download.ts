import type { ArtifactDetail } from '@muster/contracts';
import type { ObjectStorage } from './object-storage';

const downloadSeconds = 3600;

/** Returns a presigned URL of the file and its expiry; both are null if there is no file or it cannot be signed. */
export async function presignDownload(
  storage: ObjectStorage,
  file: { storageKey: string; filename?: string; contentType?: string } | null,
  now: Date,
): Promise<Pick<ArtifactDetail, 'downloadUrl' | 'downloadUrlExpiresAt'>> {
  const options = { filename: file?.filename, contentType: file?.contentType, expiresInSeconds: downloadSeconds };
  const downloadUrl = file && (await storage.presignGet(file.storageKey, options).catch(() => null));
  if (!downloadUrl) return { downloadUrl: null, downloadUrlExpiresAt: null };
  return { downloadUrl, downloadUrlExpiresAt: new Date(now.getTime() + downloadSeconds * 1000).toISOString() };
}
