import type { Problem } from './generated';

/** What the service answered instead; status 0 where it could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: { field: string; message: string }[];
  readonly problem: Partial<Problem> & Record<string, unknown>;

  constructor(status: number, problem: Partial<Problem> & Record<string, unknown>) {
    super(problem.detail || problem.title || 'The service did not say what is wrong.');
    this.name = 'ApiError';
    this.status = status;
    this.problem = problem;
    this.code = problem.code ?? `http_${status}`;
    this.requestId = problem.requestId;
    this.fields = (problem.errors ?? []).map(faultOf);
  }
}

/** What is wrong with a field; of a bundle, with one of its files. */
function faultOf(fault: { field?: string; message?: string; path?: string; reason?: string }) {
  return { field: fault.field ?? fault.path ?? '', message: fault.message ?? fault.reason ?? '' };
}

/** Whatever was thrown on the way to an answer, as one type. */
export function toApiError(thrown: unknown, response?: Response): ApiError | DOMException {
  if (thrown instanceof ApiError) return thrown;
  // A request that was given up by us is no fault.
  if (thrown instanceof DOMException && thrown.name === 'AbortError') return thrown;
  if (!response) return new ApiError(0, { code: 'unreachable', detail: 'The service cannot be reached.' });
  const problem = typeof thrown === 'object' && thrown !== null ? (thrown as Partial<Problem>) : {};
  const requestId = response.headers.get('x-request-id') ?? undefined;
  return new ApiError(response.status, { detail: `The service answered ${response.status}.`, requestId, ...problem });
}

export function isApiError(error: unknown, ...codes: string[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
