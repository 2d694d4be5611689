import type { Problem } from './generated';

/**
 * What the service answered instead, by its `code`; the answer itself is `problem`. Where it could not be reached the
 * status is 0 and the code `unreachable`.
 */
export class MusterError extends Error {
  readonly code: string;
  readonly status: number;
  /** What support asks for. */
  readonly requestId: string | undefined;
  /** What is wrong with the fields that were sent. */
  readonly fields: { field: string; message: string }[];
  readonly problem: Partial<Problem> & Record<string, unknown>;

  constructor(status: number, problem: Partial<Problem> & Record<string, unknown>, options?: ErrorOptions) {
    super(problem.detail || problem.title || `The service answered ${status}.`, options);
    this.name = 'MusterError';
    this.status = status;
    this.code = problem.code ?? `http_${status}`;
    this.requestId = problem.requestId;
    this.fields = problem.errors ?? [];
    this.problem = problem;
  }
}

export function isMusterError(error: unknown, ...codes: string[]): error is MusterError {
  return error instanceof MusterError && (codes.length === 0 || codes.includes(error.code));
}

/** Whatever was thrown on the way to an answer, as one type. What the caller has given up stays what it is. */
export function toMusterError(thrown: unknown, response?: Response): unknown {
  if (thrown instanceof MusterError || isAbort(thrown)) return thrown;
  if (!response) {
    const cause = (thrown as { cause?: { code?: string } } | undefined)?.cause;
    const why = cause?.code ? ` (${cause.code})` : '';
    return new MusterError(
      0,
      { code: 'unreachable', detail: `The service cannot be reached${why}.` },
      { cause: thrown },
    );
  }
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const problem = typeof thrown === 'object' && thrown !== null ? (thrown as Partial<Problem>) : {};
  return new MusterError(response.status, { requestId, ...problem });
}

/** By its name: it may be another window's error, or no Error at all. */
export function isAbort(thrown: unknown): boolean {
  const { name } = (thrown ?? {}) as { name?: unknown };
  return name === 'AbortError' || name === 'TimeoutError';
}
