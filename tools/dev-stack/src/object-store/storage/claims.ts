import { S3Error } from '../errors';
import type { S3Request } from '../wire/request';
import { ALGORITHM, type Scope } from '../wire/signature';

/** The signature data of a request: parsed and well-formed, but not verified yet. */
export interface SignatureClaims {
  accessKeyId: string;
  scope: Scope;
  /** `20260131T235959Z` */
  timestamp: string;
  signedAt: Date;
  signedHeaders: string[];
  signature: string;
  /** Validity in seconds; only in a presigned request. */
  expiresSeconds?: number;
}

export type MalformedCode = 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError';

export function getMalformedCode(request: S3Request): MalformedCode {
  return request.presigned.size > 0 ? 'AuthorizationQueryParametersError' : 'AuthorizationHeaderMalformed';
}

export function readSignatureClaims(request: S3Request): SignatureClaims {
  const authorization = request.sentHeaders.get('authorization');
  if (request.presigned.has('x-amz-security-token') || request.headers.has('x-amz-security-token')) {
    throw new S3Error('InvalidToken');
  }
  if (authorization !== undefined && request.presigned.size > 0) {
    throw new S3Error('InvalidArgument', {
      message:
        'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    });
  }
  if (request.presigned.size > 0) return readClaimsFromQuery(request);
  if (authorization !== undefined) return readClaimsFromHeader(request, authorization);
  throw new S3Error('AccessDenied');
}

const MAX_EXPIRES_SECONDS = 604_800;

function readClaimsFromHeader(request: S3Request, authorization: string): SignatureClaims {
  const [scheme, ...rest] = authorization.split(' ');
  if (scheme !== ALGORITHM) {
    throw new S3Error('InvalidRequest', {
      message: `The authorization mechanism you have provided is not supported. Please use ${ALGORITHM}.`,
    });
  }
  const fields = new Map<string, string>();
  for (const field of rest.join(' ').split(',')) {
    const [, name, value] = /^\s*(\w+)=(\S+)\s*$/.exec(field) ?? [];
    if (!name || !value || fields.has(name)) throw new S3Error('AuthorizationHeaderMalformed');
    fields.set(name, value);
  }
  const timestamp = request.sentHeaders.get('x-amz-date');
  if (timestamp === undefined) {
    throw new S3Error('AccessDenied', { message: 'AWS authentication requires a valid x-amz-date header' });
  }
  return parseClaims(getMalformedCode(request), {
    credential: fields.get('Credential'),
    signedHeaders: fields.get('SignedHeaders'),
    signature: fields.get('Signature'),
    timestamp,
  });
}

function readClaimsFromQuery({ presigned }: S3Request): SignatureClaims {
  if (presigned.get('x-amz-algorithm') !== ALGORITHM) {
    throw new S3Error('AuthorizationQueryParametersError', {
      message: `X-Amz-Algorithm only supports "${ALGORITHM}"`,
    });
  }
  const expires = presigned.get('x-amz-expires') ?? '';
  const expiresSeconds = Number(expires);
  if (!/^\d{1,9}$/.test(expires) || expiresSeconds < 1 || expiresSeconds > MAX_EXPIRES_SECONDS) {
    throw new S3Error('AuthorizationQueryParametersError', {
      message: `X-Amz-Expires must be between 1 and a week (in seconds) that is ${MAX_EXPIRES_SECONDS}`,
    });
  }
  const claims = parseClaims('AuthorizationQueryParametersError', {
    credential: presigned.get('x-amz-credential'),
    signedHeaders: presigned.get('x-amz-signedheaders'),
    signature: presigned.get('x-amz-signature'),
    timestamp: presigned.get('x-amz-date'),
  });
  return { ...claims, expiresSeconds };
}

function parseClaims(
  code: MalformedCode,
  raw: { credential?: string; signedHeaders?: string; signature?: string; timestamp?: string },
): SignatureClaims {
  const [accessKeyId, date, region, service, terminator, ...more] = (raw.credential ?? '').split('/');
  if (!accessKeyId || !date || !region || !service || terminator !== 'aws4_request' || more.length > 0) {
    throw new S3Error(code, {
      message: 'Error parsing the Credential; it must be <access-key>/YYYYMMDD/<region>/s3/aws4_request.',
    });
  }
  if (!/^[0-9a-f]{64}$/.test(raw.signature ?? '')) {
    throw new S3Error(code, { message: 'Signature must be 64 lower-case hexadecimal digits.' });
  }
  const signedHeaders = (raw.signedHeaders ?? '').split(';');
  const sorted = [...new Set(signedHeaders)].sort();
  if (
    signedHeaders.join() !== sorted.join() ||
    signedHeaders.some((name) => !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
  ) {
    throw new S3Error(code, { message: 'SignedHeaders must be lower-case header names, sorted, separated by ";".' });
  }
  return {
    accessKeyId,
    scope: { date, region, service },
    timestamp: raw.timestamp ?? '',
    signedAt: parseTimestamp(code, raw.timestamp ?? ''),
    signedHeaders,
    signature: raw.signature!,
  };
}

function parseTimestamp(code: MalformedCode, timestamp: string): Date {
  const iso = timestamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6.000Z');
  const parsed = new Date(iso);
  // The comparison rejects dates such as 30 February, which Date would convert to another day.
  if (Number.isNaN(parsed.getTime()) || parsed.toISOString() !== iso) {
    throw new S3Error(code, { message: "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"" });
  }
  return parsed;
}
