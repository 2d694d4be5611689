import { AppError, type ErrorCode } from '@muster/contracts';
import { describeBodyShape } from '@muster/pilot';
import type { FastifyRequest } from 'fastify';

/** Maps the codes of errors that occur before the body is read as a summary to the codes of run summaries. */
const unreadable: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_payload: 'RUN_SUMMARY_REQUEST_FAILED',
  payload_too_large: 'run_summary_too_large',
  unsupported_media_type: 'run_summary_not_json',
};

const own: ErrorCode[] = [
  'INVALID_RUN_SUMMARY_PAYLOAD',
  'MISSING_BATCH_ID',
  'JOB_NOT_FOUND',
  'conflict',
  'RUN_SUMMARY_REQUEST_FAILED',
];

/**
 * Converts an error to one with a code of the run summaries, which also describes the structure of the request's body.
 * Errors of authentication and of rate limits are not about the summary, so they are returned unchanged.
 */
export function toRunSummaryError(thrown: AppError | undefined, request: FastifyRequest): AppError | undefined {
  if (!thrown || thrown.status >= 500) {
    return new AppError('DENTRIX_RUN_SUMMARY_INGEST_FAILED', {
      detail: 'The summary could not be stored. Send it again; a batch that is sent twice is stored once.',
      extra: { shape: describeBodyShape(request.body) },
    });
  }
  const code = unreadable[thrown.code] ?? thrown.code;
  if (code === thrown.code && !own.includes(code)) return thrown;
  return new AppError(code, {
    ...thrown.options,
    detail: thrown.message,
    extra: { shape: describeBodyShape(request.body) },
  });
}
