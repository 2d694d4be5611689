import { assertBucketName } from './storage/bucket-name';
import { CHECKSUM_ALGORITHMS, checksumHeader } from './wire/checksums';
import { S3Error } from './errors';
import type { Operation } from './operation';
import { createBucket, headBucket, listBuckets } from './operations/buckets';
import { completeUpload } from './operations/complete-upload';
import { copyObject } from './operations/copy-object';
import { deleteObject } from './operations/delete-object';
import { deleteObjects } from './operations/delete-objects';
import { getObject } from './operations/get-object';
import { listObjects } from './operations/list-objects';
import { abortUpload, createUpload, listParts } from './operations/multipart';
import { putObject } from './operations/put-object';
import { uploadPart } from './operations/upload-part';
import type { S3Request } from './wire/request';

interface Route {
  method: string;
  on: 'service' | 'bucket' | 'object';
  /** Query parameters (or one header) that choose this operation among those with the same method. */
  needs?: string[];
  /** Further query parameters that are understood. */
  query?: string[];
  /** The x-amz-* headers that are understood; a trailing `-` means every header that starts so. */
  headers?: string[];
  body?: boolean;
  run: Operation;
}

/** Whatever a route does not name it does not do: answering as if it had would be a lie, so it is NotImplemented. */
export function findRoute(request: S3Request): Route {
  const { bucket, key } = request.target;
  if (bucket !== undefined || key !== undefined) assertBucketName(bucket ?? '');
  const on = key !== undefined ? 'object' : bucket !== undefined ? 'bucket' : 'service';
  const route = ROUTES.find(
    (each) =>
      each.method === request.method &&
      each.on === on &&
      (each.needs ?? []).every((name) => request.query.has(name) || request.headers.has(name)),
  );
  if (!route) throw new S3Error('NotImplemented', { Method: request.method });
  const strangeParameter = [...request.query.keys()].find(
    (name) => ![...COMMON_QUERY, ...(route.needs ?? []), ...(route.query ?? [])].includes(name),
  );
  if (strangeParameter !== undefined) throw new S3Error('NotImplemented', { Parameter: strangeParameter });
  const understood = [...COMMON_HEADERS, ...(route.needs ?? []), ...(route.headers ?? [])];
  const strangeHeader = [...request.headers.keys()].find(
    (name) =>
      name.startsWith('x-amz-') &&
      !understood.some((known) => (known.endsWith('-') ? name.startsWith(known) : name === known)),
  );
  if (strangeHeader !== undefined) throw new S3Error('NotImplemented', { Header: strangeHeader });
  return route;
}

const COMMON_QUERY = ['x-id'];
const COMMON_HEADERS = ['x-amz-content-sha256', 'x-amz-date', 'x-amz-user-agent'];
const CHECKSUM_HEADERS = CHECKSUM_ALGORITHMS.map(checksumHeader);
const BODY_HEADERS = [
  ...CHECKSUM_HEADERS,
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-trailer',
];
const READ_QUERY = [
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
];
const LIST_QUERY = ['continuation-token', 'delimiter', 'encoding-type', 'max-keys', 'prefix', 'start-after'];

/** In order: the first that fits is taken, so those with `needs` stand before those without. */
const ROUTES: Route[] = [
  { method: 'GET', on: 'service', run: listBuckets },

  { method: 'GET', on: 'bucket', needs: ['list-type'], query: LIST_QUERY, run: listObjects },
  { method: 'HEAD', on: 'bucket', run: headBucket },
  { method: 'POST', on: 'bucket', needs: ['delete'], headers: BODY_HEADERS, body: true, run: deleteObjects },
  { method: 'PUT', on: 'bucket', headers: BODY_HEADERS, body: true, run: createBucket },

  {
    method: 'GET',
    on: 'object',
    needs: ['uploadId'],
    query: ['max-parts', 'part-number-marker'],
    run: listParts,
  },
  { method: 'GET', on: 'object', query: READ_QUERY, headers: ['x-amz-checksum-mode'], run: getObject },
  { method: 'HEAD', on: 'object', query: READ_QUERY, headers: ['x-amz-checksum-mode'], run: getObject },
  {
    method: 'PUT',
    on: 'object',
    needs: ['partNumber', 'uploadId'],
    headers: BODY_HEADERS,
    body: true,
    run: uploadPart,
  },
  {
    method: 'PUT',
    on: 'object',
    needs: ['x-amz-copy-source'],
    headers: ['x-amz-checksum-algorithm', 'x-amz-copy-source-if-', 'x-amz-meta-', 'x-amz-metadata-directive'],
    run: copyObject,
  },
  { method: 'PUT', on: 'object', headers: [...BODY_HEADERS, 'x-amz-meta-'], body: true, run: putObject },
  {
    method: 'POST',
    on: 'object',
    needs: ['uploads'],
    headers: ['x-amz-checksum-algorithm', 'x-amz-checksum-type', 'x-amz-meta-'],
    run: createUpload,
  },
  {
    method: 'POST',
    on: 'object',
    needs: ['uploadId'],
    headers: [...CHECKSUM_HEADERS, 'x-amz-checksum-type'],
    body: true,
    run: completeUpload,
  },
  { method: 'DELETE', on: 'object', needs: ['uploadId'], run: abortUpload },
  { method: 'DELETE', on: 'object', run: deleteObject },
];
