import { AppError } from '@muster/contracts';

interface StorageError {
  name: string;
  $metadata?: { httpStatusCode?: number };
}

/** Returns service_unavailable if the storage is unreachable, hangs or is full; undefined for any other error. */
export function readStorageError(error: unknown): AppError | undefined {
  const { $metadata } = (error ?? {}) as Partial<StorageError>;
  if (!$metadata) return undefined;
  const { httpStatusCode: status } = $metadata;
  if (isStorageFullError(error)) {
    return new AppError('service_unavailable', {
      detail: 'The object storage is full; try again later.',
      cause: error,
    });
  }
  // If the storage rejects a request, for example because of wrong credentials, the service is configured wrongly. The
  // response stays a 500.
  if (status !== undefined && status < 500) return undefined;
  return new AppError('service_unavailable', {
    detail: 'The object storage does not answer; try again.',
    cause: error,
  });
}

/**
 * Status 507 is from WebDAV. S3 defines no error for a full storage, so storages use this status or their own names.
 */
export function isStorageFullError(error: unknown): boolean {
  const { name, $metadata } = error as StorageError;
  return $metadata?.httpStatusCode === 507 || /StorageFull|InsufficientStorage|DiskFull/i.test(name ?? '');
}
