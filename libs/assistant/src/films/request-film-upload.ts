import { audit, type Principal } from '@muster/access';
import { AppError, type FilmUploadBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';

const maxFilmBytes = 500 * 1024 * 1024;

/** Records a new object key before the caller gets it. */
export function requestVideoUpload(
  tx: Transaction,
  caller: Principal,
  { contentType, size }: FilmUploadBody,
): { uploadKey: string } {
  const { organizationId } = caller;
  if (size > maxFilmBytes)
    throw new AppError('payload_too_large', { detail: 'A video can have at most 500 MiB. Use a smaller one.' });
  const uploadKey = `uploads/${organizationId}/${newId()}`;
  tx.deferStatement(
    'INSERT INTO film_upload (upload_key, organization_id, content_type, size) VALUES ($1, $2, $3, $4)',
    [uploadKey, organizationId, contentType, size],
  );
  audit(tx, caller, {
    action: 'upload.create',
    target: { type: 'upload', id: uploadKey },
    changes: { contentType, size },
  });
  return { uploadKey };
}
