const ERRORS = {
  AccessDenied: { status: 403, message: 'Access Denied' },
  AccessForbidden: { status: 403, message: 'CORSResponse: This CORS request is not allowed.' },
  AuthorizationHeaderMalformed: { status: 400, message: 'The authorization header that you provided is not valid.' },
  AuthorizationQueryParametersError: { status: 400, message: 'The authorization query parameters are not valid.' },
  BadDigest: { status: 400, message: 'The checksum that you specified did not match what we received.' },
  BucketAlreadyOwnedByYou: { status: 409, message: 'The bucket that you tried to create already exists.' },
  EntityTooLarge: { status: 400, message: 'Your proposed upload exceeds the maximum allowed size' },
  IncompleteBody: { status: 400, message: 'The request body terminated unexpectedly' },
  InternalError: { status: 500, message: 'We encountered an internal error. Please try again.' },
  InvalidAccessKeyId: { status: 403, message: 'The AWS Access Key Id you provided does not exist in our records.' },
  InvalidArgument: { status: 400, message: 'Invalid Argument' },
  InvalidBucketName: { status: 400, message: 'The specified bucket is not valid.' },
  InvalidDigest: { status: 400, message: 'The Content-MD5 you specified was invalid.' },
  InvalidRange: { status: 416, message: 'The requested range is not satisfiable' },
  InvalidRequest: { status: 400, message: 'Invalid Request' },
  InvalidToken: { status: 400, message: 'The provided token is malformed or otherwise invalid.' },
  InvalidURI: { status: 400, message: "Couldn't parse the specified URI." },
  KeyTooLongError: { status: 400, message: 'Your key is too long' },
  MetadataTooLarge: { status: 400, message: 'Your metadata headers exceed the maximum allowed metadata size' },
  MissingContentLength: { status: 411, message: 'You must provide the Content-Length HTTP header.' },
  NoSuchBucket: { status: 404, message: 'The specified bucket does not exist' },
  NoSuchKey: { status: 404, message: 'The specified key does not exist.' },
  NotImplemented: {
    status: 501,
    message: 'A header or parameter you provided implies functionality that is not implemented',
  },
  // S3 does not have this error code, but other object stores use it.
  StorageFull: { status: 507, message: 'The storage has no space left.' },
  PreconditionFailed: { status: 412, message: 'At least one of the pre-conditions you specified did not hold' },
  RequestTimeTooSkewed: {
    status: 403,
    message: 'The difference between the request time and the current time is too large.',
  },
  SignatureDoesNotMatch: {
    status: 403,
    message: 'The request signature we calculated does not match the signature you provided.',
  },
  UnexpectedContent: { status: 400, message: 'This request does not support content' },
  XAmzContentSHA256Mismatch: {
    status: 400,
    message: "The provided 'x-amz-content-sha256' header does not match what was computed.",
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** An error response of S3. `message` replaces the table's sentence; every other detail becomes an XML element. */
export class S3Error extends Error {
  readonly status: number;
  readonly details: readonly (readonly [string, string])[];

  constructor(
    readonly code: ErrorCode,
    { message, ...details }: { message?: string; [element: string]: string | undefined } = {},
  ) {
    super(message ?? ERRORS[code].message);
    this.status = ERRORS[code].status;
    this.details = Object.entries(details).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  }
}
