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
/** Error codes of a database that cannot write. The request is valid, and succeeds once an operator has made room. */
const fullCodes = new Set([
  '53100', // disk full
  '53200', // out of memory
  '25006', // read only: after a failover, or set by an operator because the disk is nearly full
]);
const unavailableMessage =
  /Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end|not queryable|Driver not Connected|DataSource is not set|connection is not established/i;

/** Error codes of a transaction that was rolled back because of concurrent transactions. */
const conflictCodes = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // lock timeout
]);

/** Returns a 503 for a database that is unreachable, hung, full or out of connections, because the request is valid. */
export function toAppErrorOfDatabase(error: unknown): AppError | undefined {
  if (fullCodes.has(getErrorCode(error) ?? '')) {
    return new AppError('service_unavailable', {
      detail: 'The disk of the database is full; nothing was changed. Try again later.',
      cause: error,
    });
  }
  if (conflictCodes.has(getErrorCode(error) ?? '')) {
    return new AppError('service_unavailable', {
      detail: 'Another request changed the same data at the same time, so nothing was changed. Try again.',
      cause: error,
    });
  }
  if (!isDatabaseUnavailable(error)) return undefined;
  return new AppError('service_unavailable', { detail: 'The database does not answer; try again.', cause: error });
}

export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Errors of the object storage client have similar codes but are not errors of the database.
  if ('$metadata' in error) return false;
  const code = getErrorCode(error) ?? '';
  return unavailableCodes.has(code) || /^08/.test(code) || unavailableMessage.test(error.message);
}

function getErrorCode(error: unknown): string | undefined {
  const { code, driverError } = (error ?? {}) as { code?: string; driverError?: { code?: string } };
  return code ?? driverError?.code;
}

/** Whether the transaction lost to a concurrent one, so that it can simply run again. */
export function isRetryableError(error: unknown): boolean {
  return ['40001', '40P01'].includes((error as { code?: string })?.code ?? '');
}

/** Returns the constraint that a write violated; undefined for another error. */
export function getViolatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code?.startsWith('23') ? constraint : undefined;
}
