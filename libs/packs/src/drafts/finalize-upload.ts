import type { Principal } from '@muster/access';
import { AppError, type FinalizeUploadBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { findPack, lockPack } from '../packs/pack-row';
import { bundleRejectedError } from '../zip/bundle-faults';
import { zipLimits } from '../zip/zip-limits';
import { setDraftHead, requireUnchangedDraftHead } from './set-draft-head';
import { runWithSpool } from './spool';
import { type DraftParts, type PreparedDraft, prepareSpooledDraft } from './take-draft';
import { findPackUpload, readUpload } from './upload-row';

/**
 * An upload that has already become a draft (`prepared` is null), or a checked and stored upload that can become the
 * draft head.
 */
export type FinalizedUpload = { packId: string; body: FinalizeUploadBody; prepared: PreparedDraft | null };

/**
 * Streams and checks the upload, and copies exactly the bytes that were read to the key of the bundle. The key of the
 * upload is writable until its URL expires, so the copy is made only if the ETag is unchanged.
 */
export async function prepareUpload(
  parts: DraftParts,
  caller: Principal,
  packId: string,
  body: FinalizeUploadBody,
): Promise<FinalizedUpload> {
  const { database, storage } = parts;
  const { organizationId } = caller;
  const pack = await findPack(database, organizationId, packId);
  const upload = await findPackUpload(database, { organizationId, packId, uploadKey: body.uploadKey });
  if (upload.runtimeBundleId) return { packId, body, prepared: null };
  requireUnchangedDraftHead(pack, body);
  const size = await storage.readObjectSize(upload.uploadKey);
  if (size !== null && size > zipLimits.zippedBytes) throw bundleRejectedError('too_large');
  const object = await storage.read(upload.uploadKey);
  if (!object) throw uploadMissingError();
  const { chunks, etag } = object;
  const prepared = await runWithSpool(async (spool) => {
    const spooled = await spool(chunks);
    const copyToKey = async (key: string) => {
      if (!(await storage.copy(upload.uploadKey, key, { etag }))) throw uploadChangedError();
    };
    return prepareSpooledDraft(parts, caller, {
      packId,
      spooled,
      inventory: body.files,
      expected: body,
      store: copyToKey,
    });
  });
  return { packId, body, prepared };
}

/**
 * Makes the upload the draft head and returns the id of the draft. A repeated call returns the same id while that draft
 * is the head.
 */
export async function finalizeUpload(
  tx: Transaction,
  caller: Principal,
  { packId, body, prepared }: FinalizedUpload,
): Promise<string> {
  const { organizationId } = caller;
  const pack = await lockPack(tx, organizationId, packId);
  const upload = await readUpload(tx, { organizationId, packId, uploadKey: body.uploadKey });
  const { runtimeBundleId: used } = upload;
  if (used) {
    if (used !== pack.draftRuntimeBundleId) {
      throw new AppError('upload_used', {
        detail: 'This upload has already become a draft, and another draft has replaced it. Request a new upload.',
      });
    }
    return used;
  }
  const { runtimeBundleId } = prepared!;
  await setDraftHead(tx, caller, { packId, runtimeBundleId, expected: body });
  await tx.execute('UPDATE pack_upload SET runtime_bundle_id = $2 WHERE id = $1 AND organization_id = $3', [
    upload.id,
    runtimeBundleId,
    organizationId,
  ]);
  return runtimeBundleId;
}

function uploadMissingError(): AppError {
  return new AppError('upload_missing', { detail: 'No file was uploaded yet; send the zip to uploadUrl first.' });
}

function uploadChangedError(): AppError {
  return new AppError('conflict', { detail: 'The uploaded file changed while it was read; finalize it again.' });
}
