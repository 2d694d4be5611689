import type { Problem } from './generated';

/** Error response of the service; status 0 if the service could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: { field: string; message: string }[];
  readonly problem: Partial<Problem> & Record<string, unknown>;

  constructor(status: number, problem: Partial<Problem> & Record<string, unknown>) {
    super(problem.detail || problem.title || 'The service returned an error without a description. Try again later.');
    this.name = 'ApiError';
    this.status = status;
    this.problem = problem;
    this.code = problem.code ?? `http_${status}`;
    this.requestId = problem.requestId;
    this.fields = (problem.errors ?? []).map(toFieldError);
  }
}

/** Validation error of a field, or of a file in a bundle. */
function toFieldError(fault: { field?: string; message?: string; path?: string; reason?: string }) {
  return { field: fault.field ?? fault.path ?? '', message: fault.message ?? fault.reason ?? '' };
}

/** Converts an error that a request threw to an ApiError; an abort stays an abort. */
export function toApiError(thrown: unknown, response?: Response): ApiError | DOMException {
  if (thrown instanceof ApiError) return thrown;
  // The console aborted this request itself, which is not an error.
  if (thrown instanceof DOMException && thrown.name === 'AbortError') return thrown;
  if (!response)
    return new ApiError(0, { code: 'unreachable', detail: 'The service cannot be reached. Try again later.' });
  const problem = typeof thrown === 'object' && thrown !== null ? (thrown as Partial<Problem>) : {};
  const requestId = response.headers.get('x-request-id') ?? undefined;
  return new ApiError(response.status, {
    detail: `The service returned the status ${response.status}. Try again later.`,
    requestId,
    ...problem,
  });
}

export function isApiError(error: unknown, ...codes: string[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
