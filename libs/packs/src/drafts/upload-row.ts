import { AppError } from '@muster/contracts';
import type { Database, PackUploadEntity, Transaction } from '@muster/database';

export type UploadRow = Pick<PackUploadEntity, 'id' | 'uploadKey' | 'expiresAt' | 'runtimeBundleId'> & {
  isExpired: boolean;
};

interface Names {
  organizationId: string;
  packId: string;
  uploadKey: string;
}

const select = `SELECT id, upload_key, expires_at, runtime_bundle_id, expires_at <= muster_now() AS is_expired FROM pack_upload
  WHERE upload_key = $1 AND pack_id = $2 AND organization_id = $3`;

export async function findPackUpload(
  database: Database,
  { organizationId, packId, uploadKey }: Names,
): Promise<UploadRow> {
  const rows = await database.query<UploadRow>({ organizationId }, select, [uploadKey, packId, organizationId]);
  return requireUsableUpload(rows[0]);
}

/** Returns an upload in the transaction that finalizes it. The lock of its pack excludes other such transactions. */
export async function readUpload(tx: Transaction, { organizationId, packId, uploadKey }: Names): Promise<UploadRow> {
  const rows = await tx.query<UploadRow>(select, [uploadKey, packId, organizationId]);
  return requireUsableUpload(rows[0]);
}

/**
 * Throws unless the upload can be used. An upload that has become a draft is usable while its row exists, so that its
 * response can be repeated.
 */
function requireUsableUpload(row: UploadRow | undefined): UploadRow {
  if (row && (row.runtimeBundleId || !row.isExpired)) return row;
  throw new AppError('upload_not_found', {
    detail: 'The pack has no such upload, or the upload has expired. Request a new one.',
  });
}
