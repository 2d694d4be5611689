import type { Problem } from './generated';

/**
 * An error of the service, identified by its `code`. `problem` is the response body. If the service is unreachable, the
 * status is 0 and the code is `unreachable`.
 */
export class MusterError extends Error {
  readonly code: string;
  readonly status: number;
  /** Id of the request, to include when you contact support. */
  readonly requestId: string | undefined;
  /** Validation errors of the request's fields. */
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

/** Converts a thrown value to a MusterError. Returns abort errors unchanged. */
export function toMusterError(thrown: unknown, response?: Response): unknown {
  if (thrown instanceof MusterError || isAbortOrTimeout(thrown)) return thrown;
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

/** Whether a thrown value is an abort or a timeout. Checks the name, because instanceof fails across windows. */
export function isAbortOrTimeout(thrown: unknown): boolean {
  const { name } = (thrown ?? {}) as { name?: unknown };
  return name === 'AbortError' || name === 'TimeoutError';
}
