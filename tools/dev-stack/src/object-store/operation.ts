import type { ServerResponse } from 'node:http';
import type { Bucket } from './storage/bucket';
import type { Payload, PayloadOptions } from './wire/payload';
import type { S3Request } from './wire/request';
import type { Store } from './storage/store';

/** An authenticated request with its context. */
export interface Call {
  id: string;
  request: S3Request;
  response: ServerResponse;
  store: Store;
  region: string;
  now: () => Date;
  openPayload: (options: PayloadOptions) => Payload;
}

export type Operation = (call: Call) => Promise<void>;

export function getBucketOfCall({ request, store }: Call): Bucket {
  return store.getBucket(request.target.bucket ?? '');
}

export function getKeyOfCall({ request }: Call): string {
  return request.target.key ?? '';
}
