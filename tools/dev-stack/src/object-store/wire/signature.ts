import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const ALGORITHM = 'AWS4-HMAC-SHA256';
export const EMPTY_SHA256 = createHash('sha256').digest('hex');

export interface Scope {
  date: string;
  region: string;
  service: string;
}

export interface SignedRequest {
  method: string;
  /** Exactly the path that was sent. S3 does not normalize paths, so dot segments and escapes must not be rewritten. */
  rawPath: string;
  query: readonly (readonly [name: string, value: string])[];
  headers: ReadonlyMap<string, string>;
  signedHeaders: readonly string[];
  payloadHash: string;
}

export function buildCanonicalRequest(request: SignedRequest): string {
  return [
    request.method,
    request.rawPath,
    buildCanonicalQuery(request.query),
    ...request.signedHeaders.map((name) => `${name}:${normalizeHeaderValue(request.headers.get(name) ?? '')}`),
    '',
    request.signedHeaders.join(';'),
    request.payloadHash,
  ].join('\n');
}

export function buildStringToSign(signing: { timestamp: string; scope: Scope; canonicalRequest: string }): string {
  return [ALGORITHM, signing.timestamp, formatScope(signing.scope), sha256Hex(signing.canonicalRequest)].join('\n');
}

export function deriveSigningKey(secretAccessKey: string, scope: Scope): Buffer {
  return [scope.date, scope.region, scope.service, 'aws4_request'].reduce(
    (key, part) => createHmac('sha256', key).update(part).digest(),
    Buffer.from(`AWS4${secretAccessKey}`),
  );
}

export function signString(key: Buffer, stringToSign: string): string {
  return createHmac('sha256', key).update(stringToSign, 'latin1').digest('hex');
}

/**
 * Compares hashes, which have equal lengths, so the time of the comparison does not reveal where the secrets differ.
 */
export function equalsInConstantTime(left: string, right: string): boolean {
  return timingSafeEqual(createHash('sha256').update(left).digest(), createHash('sha256').update(right).digest());
}

export function formatScope(scope: Scope): string {
  return `${scope.date}/${scope.region}/${scope.service}/aws4_request`;
}

/**
 * Node decodes header values as latin1, one character per byte, so hashing them as latin1 hashes the bytes that were
 * sent.
 */
function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}

function buildCanonicalQuery(query: SignedRequest['query']): string {
  return query
    .filter(([name]) => name.toLowerCase() !== 'x-amz-signature')
    .map(([name, value]) => [escapeUri(name), escapeUri(value)] as const)
    .sort(([nameA, valueA], [nameB, valueB]) => compareBytes(nameA, nameB) || compareBytes(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function compareBytes(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function normalizeHeaderValue(value: string): string {
  return value.replace(/[ \t]+/g, ' ').trim();
}
