import { AppError, type FeedbackType, feedbackPayloads, invalidFieldError } from '@muster/contracts';
import type { BugReportPayload, WorkflowIssuePayload } from '@muster/contracts';
import { checkBody, parseJsonBody } from '@muster/platform';

/** A feedback report of any type. */
export type FeedbackReport = Pick<BugReportPayload, 'title' | 'description'> & { type: FeedbackType } & Partial<
    Omit<BugReportPayload, 'type'> & Pick<WorkflowIssuePayload, 'workflowId'>
  >;

const maxPayloadBytes = 64 * 1024;

/** Parses the form field `payload` and validates it by its type. */
export async function parseFeedbackPayload(text: string): Promise<FeedbackReport> {
  const bytes = Buffer.from(text);
  if (bytes.length > maxPayloadBytes) {
    throw new AppError('payload_too_large', {
      detail: `The field payload has more than ${maxPayloadBytes} bytes. Shorten the report.`,
    });
  }
  const value = await parseJsonBody(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidFieldError('payload', 'payload must be a JSON object');
  }
  const { type } = value as { type?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(feedbackPayloads, type)) {
    throw invalidFieldError(
      'type',
      `type must be one of the following values: ${Object.keys(feedbackPayloads).join(', ')}`,
    );
  }
  return checkBody<FeedbackReport>(feedbackPayloads[type as FeedbackType] as new () => FeedbackReport, value);
}
