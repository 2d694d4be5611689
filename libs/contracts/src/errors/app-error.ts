import { type ErrorCode, errorTable } from './error-table';

export interface FieldError {
  field: string;
  message: string;
}

export interface AppErrorOptions {
  /** One sentence for the person who reads the response. */
  detail?: string;
  errors?: FieldError[];
  /** Additional fields of the error response (problem+json), such as parseError. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Content type of the error response, on routes whose interface defines another one than problem+json. */
  contentType?: string;
  cause?: unknown;
}

/** An error that the client sees. The error table defines its status; a filter converts it to problem+json. */
export class AppError extends Error {
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    readonly options: AppErrorOptions = {},
  ) {
    super(options.detail ?? errorTable[code].title, { cause: options.cause });
    this.name = 'AppError';
    this.status = errorTable[code].status;
  }
}

/** Creates the error for a resource that does not exist, or that belongs to another organization. */
export function notFoundError(what: string): AppError {
  return new AppError('not_found', {
    detail: `There is no such ${what} in this organization. Check the id or the name.`,
  });
}

/** Creates the error for an agent that does not exist; agents have a separate error code. */
export function agentNotFoundError(): AppError {
  return new AppError('agent_not_found', {
    detail: 'The organization has no agent with this id. List the agents to find the id.',
  });
}

/** Creates the error for one invalid field of a request. */
export function invalidFieldError(field: string, message: string, detail = `${message}.`): AppError {
  return new AppError('invalid_payload', { detail, errors: [{ field, message }] });
}
