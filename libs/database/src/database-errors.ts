import { AppError } from '@muster/contracts';

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  '53300', // too many connections
  '57014', // statement timeout
  '57P01', // admin shutdown
  '57P02', // crash shutdown
  '57P03', // starting up
  '25P03', // idle in transaction timeout
]);
/** Nothing of it can be written: the request is right, and comes through when somebody made room. */
const fullCodes = new Set([
  '53100', // disk full
  '53200', // out of memory
  '25006', // read only, as after a failover or by an operator whose disk runs full
]);
const unavailableMessage =
  /Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end|not queryable|Driver not Connected|DataSource is not set|connection is not established/i;

/** The transaction was rolled back because of others that ran beside it. */
const conflictCodes = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // a lock was not to be had in time
]);

/** A database that is gone, hangs or is full of connections is not a fault of the request: 503, and try again. */
export function readDatabaseError(error: unknown): AppError | undefined {
  if (fullCodes.has(codeOf(error) ?? '')) {
    return new AppError('service_unavailable', {
      detail: 'The disk of the database is full; nothing was changed. Try again later.',
      cause: error,
    });
  }
  if (conflictCodes.has(codeOf(error) ?? '')) {
    return new AppError('service_unavailable', {
      detail: 'Concurrent changes of the same data were made first; nothing was changed. Try again.',
      cause: error,
    });
  }
  if (!isDatabaseUnavailable(error)) return undefined;
  return new AppError('service_unavailable', { detail: 'The database does not answer; try again.', cause: error });
}

export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // What the object storage's client says is not about the database.
  if ('$metadata' in error) return false;
  const code = codeOf(error) ?? '';
  return unavailableCodes.has(code) || /^08/.test(code) || unavailableMessage.test(error.message);
}

function codeOf(error: unknown): string | undefined {
  const { code, driverError } = (error ?? {}) as { code?: string; driverError?: { code?: string } };
  return code ?? driverError?.code;
}

/** Two transactions met; the one that lost may simply run again. */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string })?.code ?? '');
}

/** The constraint that a write broke, when it was one. */
export function violatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code?.startsWith('23') ? constraint : undefined;
}
