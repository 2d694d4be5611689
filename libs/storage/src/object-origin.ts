import type { StorageConfig } from './storage.config';

/** Returns the origin of presigned URLs; empty if they lead to the service itself. */
export function getObjectOrigin({
  s3ThroughService,
  s3PublicEndpoint,
  s3Endpoint,
  s3Bucket,
  s3Region,
}: StorageConfig): string {
  if (s3ThroughService) return '';
  const endpoint = s3PublicEndpoint ?? s3Endpoint;
  return endpoint ? new URL(endpoint).origin : `https://${s3Bucket}.s3.${s3Region}.amazonaws.com`;
}
