import { audit, type Principal } from '@muster/access';
import type { BundleUploadBody } from '@muster/contracts';
import type { PackUploadEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { lockPack } from '../packs/pack-row';
import { packObjects } from '../pack-objects';

export const uploadSeconds = 15 * 60;

export type NewUpload = Pick<PackUploadEntity, 'uploadKey' | 'contentType' | 'expiresAt'>;

/** Stores the object key before it is returned, so that an uploaded object can always be found again. */
export async function startUpload(
  tx: Transaction,
  caller: Principal,
  packId: string,
  { fileName = null, contentType = 'application/zip' }: { [K in keyof BundleUploadBody]: BundleUploadBody[K] | null },
): Promise<NewUpload> {
  const { organizationId } = caller;
  await lockPack(tx, organizationId, packId);
  const id = newId();
  const [upload] = await tx.query<NewUpload>(
    `INSERT INTO pack_upload (id, organization_id, pack_id, upload_key, file_name, content_type, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, muster_now() + $7 * interval '1 second')
     RETURNING upload_key, content_type, expires_at`,
    [id, organizationId, packId, packObjects.upload(organizationId, id), fileName, contentType, uploadSeconds],
  );
  audit(tx, caller, {
    action: 'pack.upload',
    target: { type: 'workflow_pack', id: packId },
    changes: { uploadKey: upload!.uploadKey, ...(fileName ? { fileName } : {}) },
  });
  return upload!;
}
