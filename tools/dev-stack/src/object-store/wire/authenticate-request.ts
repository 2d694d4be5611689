import { getMalformedCode, readSignatureClaims, type SignatureClaims } from '../storage/claims';
import { S3Error } from '../errors';
import { readDeclaredPayload, type DeclaredPayload } from './declared-payload';
import type { S3Request } from './request';
import {
  buildCanonicalRequest,
  buildStringToSign,
  equalsInConstantTime,
  signString,
  deriveSigningKey,
} from './signature';

export interface Identity {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Verifies the signature and returns what it covers of the body. Throws an S3Error if the request is not authentic. */
export function authenticateRequest(
  request: S3Request,
  { credentials, region, now }: { credentials: Identity; region: string; now: Date },
): DeclaredPayload {
  const claims = readSignatureClaims(request);
  if (!equalsInConstantTime(claims.accessKeyId, credentials.accessKeyId)) {
    throw new S3Error('InvalidAccessKeyId', { AWSAccessKeyId: claims.accessKeyId });
  }
  assertScope(request, claims, region);
  assertNotExpired(claims, now);
  assertHeadersSigned(request, claims);
  const key = deriveSigningKey(credentials.secretAccessKey, claims.scope);
  const declared = readDeclaredPayload(request);
  assertSignature(request, claims, { key, payloadHash: declared.header });
  return declared;
}

const SKEW_MS = 15 * 60 * 1000;

function assertScope(request: S3Request, { scope, timestamp }: SignatureClaims, region: string): void {
  const code = getMalformedCode(request);
  if (scope.region !== region) {
    throw new S3Error(code, {
      message: `Error parsing the Credential; the region '${scope.region}' is wrong; expecting '${region}'`,
      Region: region,
    });
  }
  if (scope.service !== 's3') {
    throw new S3Error(code, {
      message: `Error parsing the Credential; incorrect service "${scope.service}". This endpoint belongs to "s3".`,
    });
  }
  if (scope.date !== timestamp.slice(0, 8)) {
    throw new S3Error(code, {
      message: `Invalid credential date "${scope.date}". This date is not the same as X-Amz-Date: "${timestamp.slice(0, 8)}".`,
    });
  }
}

function assertNotExpired({ signedAt, expiresSeconds }: SignatureClaims, now: Date): void {
  const ageMs = now.getTime() - signedAt.getTime();
  if (expiresSeconds === undefined) {
    if (Math.abs(ageMs) <= SKEW_MS) return;
    throw new S3Error('RequestTimeTooSkewed', {
      RequestTime: signedAt.toISOString(),
      ServerTime: now.toISOString(),
      MaxAllowedSkewMilliseconds: `${SKEW_MS}`,
    });
  }
  if (ageMs < -SKEW_MS) throw new S3Error('AccessDenied', { message: 'Request is not yet valid' });
  if (ageMs > expiresSeconds * 1000) {
    throw new S3Error('AccessDenied', {
      message: 'Request has expired',
      'X-Amz-Expires': `${expiresSeconds}`,
      Expires: new Date(signedAt.getTime() + expiresSeconds * 1000).toISOString(),
      ServerTime: now.toISOString(),
    });
  }
}

/**
 * Rejects unsigned x-amz-* headers: with them, a client with a presigned URL could add options that the signer did not
 * approve.
 */
function assertHeadersSigned(request: S3Request, { signedHeaders }: SignatureClaims): void {
  const unsigned = [...request.sentHeaders.keys()].filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length > 0) {
    throw new S3Error('AccessDenied', {
      message: 'There were headers present in the request which were not signed',
      HeadersNotSigned: unsigned.join(', '),
    });
  }
}

function assertSignature(
  request: S3Request,
  claims: SignatureClaims,
  { key, payloadHash }: { key: Buffer; payloadHash: string },
): void {
  const canonical = buildCanonicalRequest({
    method: request.method,
    rawPath: request.target.rawPath,
    query: request.target.query,
    headers: request.sentHeaders,
    signedHeaders: claims.signedHeaders,
    payloadHash,
  });
  const stringToSign = buildStringToSign({
    timestamp: claims.timestamp,
    scope: claims.scope,
    canonicalRequest: canonical,
  });
  const allPresent = claims.signedHeaders.every((name) => request.sentHeaders.has(name));
  if (allPresent && equalsInConstantTime(signString(key, stringToSign), claims.signature)) return;
  throw new S3Error('SignatureDoesNotMatch', {
    AWSAccessKeyId: claims.accessKeyId,
    StringToSign: stringToSign,
    SignatureProvided: claims.signature,
    CanonicalRequest: canonical,
  });
}
