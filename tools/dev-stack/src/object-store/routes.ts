import { assertBucketName } from './storage/bucket-name';
import { S3Error } from './errors';
import type { Operation } from './operation';
import { createBucket, headBucket, listBuckets } from './operations/buckets';
import { copyObject } from './operations/copy-object';
import { deleteObject } from './operations/delete-object';
import { getObject } from './operations/get-object';
import { listObjects } from './operations/list-objects';
import { putObject } from './operations/put-object';
import type { S3Request } from './wire/request';

interface Route {
  method: string;
  on: 'service' | 'bucket' | 'object';
  /** Query parameters, or a header, that distinguish this operation from others with the same method. */
  needs?: string[];
  /** Other supported query parameters. */
  query?: string[];
  /** Supported x-amz-* headers. A trailing `-` means every header with that prefix. */
  headers?: string[];
  body?: boolean;
  run: Operation;
}

/**
 * Finds the route of a request. Parameters and headers that the route does not list are not supported; they are
 * rejected with NotImplemented instead of being ignored.
 */
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
const READ_QUERY = [
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
];
const LIST_QUERY = ['continuation-token', 'delimiter', 'encoding-type', 'max-keys', 'prefix', 'start-after'];

/** The first matching route is used, so routes with `needs` come before those without. */
const ROUTES: Route[] = [
  { method: 'GET', on: 'service', run: listBuckets },

  { method: 'GET', on: 'bucket', needs: ['list-type'], query: LIST_QUERY, run: listObjects },
  { method: 'HEAD', on: 'bucket', run: headBucket },
  { method: 'PUT', on: 'bucket', run: createBucket },

  // The AWS SDK requests a checksum by default. S3 sends none for an object that was stored without one.
  { method: 'GET', on: 'object', query: READ_QUERY, headers: ['x-amz-checksum-mode'], run: getObject },
  { method: 'HEAD', on: 'object', query: READ_QUERY, headers: ['x-amz-checksum-mode'], run: getObject },
  {
    method: 'PUT',
    on: 'object',
    needs: ['x-amz-copy-source'],
    headers: ['x-amz-copy-source-if-', 'x-amz-meta-', 'x-amz-metadata-directive'],
    run: copyObject,
  },
  { method: 'PUT', on: 'object', headers: ['x-amz-meta-'], body: true, run: putObject },
  { method: 'DELETE', on: 'object', run: deleteObject },
];
