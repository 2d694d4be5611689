import { type ErrorCode, errorTable } from './error-table';

export interface FieldError {
  field: string;
  message: string;
}

export interface AppErrorOptions {
  /** One sentence for the person who reads the answer. */
  detail?: string;
  errors?: FieldError[];
  /** Members that the interface names beside the problem's own, such as parseError. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** The one way to say no. The table knows the status; a filter turns it into problem+json. */
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

/** What is wrong with one field of a request. */
export function invalidField(field: string, message: string, detail = `${message}.`): AppError {
  return new AppError('invalid_payload', { detail, errors: [{ field, message }] });
}
