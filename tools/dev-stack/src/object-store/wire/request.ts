import type { IncomingMessage } from 'node:http';
import { S3Error } from '../errors';
import { parseRequestTarget, type RequestTarget } from './uri';

export interface S3Request {
  method: string;
  target: RequestTarget;
  /** The headers that the signature covers, by lower-case name. Repeated headers are joined by commas. */
  sentHeaders: ReadonlyMap<string, string>;
  /** `sentHeaders`, and in a presigned request also the x-amz-* headers that the signer moved into the query. */
  headers: ReadonlyMap<string, string>;
  /** The X-Amz-* parameters of a presigned request, by lower-case name; empty otherwise. */
  presigned: ReadonlyMap<string, string>;
  /** The query parameters that are not in `presigned`. */
  query: ReadonlyMap<string, string>;
  incoming: IncomingMessage;
}

export function parseRequest(incoming: IncomingMessage): S3Request {
  const target = parseRequestTarget(incoming.url ?? '');
  const sentHeaders = joinHeaders(incoming.rawHeaders);
  const presigned = new Map<string, string>();
  const hoisted = new Map<string, string>();
  const query = new Map<string, string>();
  const isPresigned = target.query.some(([name]) => PRESIGN_PARAMETERS.has(name.toLowerCase()));
  for (const [name, value] of target.query) {
    const lowerName = name.toLowerCase();
    if (isPresigned && PRESIGN_PARAMETERS.has(lowerName)) addHeaderOnce(presigned, lowerName, value);
    else if (isPresigned && lowerName.startsWith('x-amz-'))
      addHeaderOnce(hoisted, lowerName, requireHeaderValue(name, value));
    else addHeaderOnce(query, name, value);
  }
  for (const name of hoisted.keys()) {
    if (sentHeaders.has(name)) throw createAmbiguousError(name);
  }
  return {
    method: incoming.method ?? '',
    target,
    sentHeaders,
    headers: new Map([...sentHeaders, ...hoisted]),
    presigned,
    query,
    incoming,
  };
}

/** Checks a query value that is sent or stored as a header: one character per byte, without control characters. */
export function requireHeaderValue(name: string, value: string): string {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new S3Error('InvalidArgument', {
      message: 'Header value cannot be represented using ISO-8859-1.',
      ArgumentName: name,
    });
  }
  return value;
}

const PRESIGN_PARAMETERS = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-signedheaders',
  'x-amz-signature',
  'x-amz-security-token',
]);

function joinHeaders(rawHeaders: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? rawHeaders[i + 1]! : `${earlier},${rawHeaders[i + 1]!}`);
  }
  return headers;
}

/** Rejects repeated names: the signature would cover all values, but the operation would use only one of them. */
function addHeaderOnce(values: Map<string, string>, name: string, value: string): void {
  if (values.has(name)) throw createAmbiguousError(name);
  values.set(name, value);
}

function createAmbiguousError(name: string): S3Error {
  return new S3Error('InvalidArgument', { message: 'A parameter was specified more than once.', ArgumentName: name });
}
