import type { ArtifactDetail } from '@muster/contracts';
import type { ObjectStorage } from './object-storage';

const downloadSeconds = 3600;

/** A URL that lends the file, and until when; null where there is no file or it cannot be signed. */
export async function lendFile(
  storage: ObjectStorage,
  file: { storageKey: string; filename?: string; contentType?: string } | null,
  now: Date,
): Promise<Pick<ArtifactDetail, 'downloadUrl' | 'downloadUrlExpiresAt'>> {
  const of = { filename: file?.filename, contentType: file?.contentType, expiresInSeconds: downloadSeconds };
  const downloadUrl = file && (await storage.presignGet(file.storageKey, of).catch(() => null));
  if (!downloadUrl) return { downloadUrl: null, downloadUrlExpiresAt: null };
  return { downloadUrl, downloadUrlExpiresAt: new Date(now.getTime() + downloadSeconds * 1000).toISOString() };
}
