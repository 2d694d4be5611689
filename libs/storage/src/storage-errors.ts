import { AppError } from '@muster/contracts';

interface StorageError {
  name: string;
  $metadata?: { httpStatusCode?: number };
}

/** A store that is gone or hangs, or whose disk is full, is not a fault of the request: 503, and try again. */
export function readStorageError(error: unknown): AppError | undefined {
  const { $metadata } = (error ?? {}) as Partial<StorageError>;
  if (!$metadata) return undefined;
  const { httpStatusCode: status } = $metadata;
  if (isFull(error)) {
    return new AppError('service_unavailable', {
      detail: 'The object storage is full; try again later.',
      cause: error,
    });
  }
  // What the store refuses, such as our credentials, is a fault of ours and stays one.
  if (status !== undefined && status < 500) return undefined;
  return new AppError('service_unavailable', {
    detail: 'The object storage does not answer; try again.',
    cause: error,
  });
}

/** WebDAV's word for it, which S3 has none for and stores use. */
export function isFull(error: unknown): boolean {
  const { name, $metadata } = error as StorageError;
  return $metadata?.httpStatusCode === 507 || /StorageFull|InsufficientStorage|DiskFull/i.test(name ?? '');
}
