import type {
  ClaimResult,
  DeliveredKind,
  FailAccountBody,
  JobLogEntry,
  JobWebhookBody,
  RunErrorCode,
  ScriptErrorCode,
  StepStatusBody,
} from '@muster/contracts';
import type { Fields } from '../protocol/service';

export const streams = ['events', 'logs', 'uploads'] as const;
export type Stream = (typeof streams)[number];

/** Picks errorCode from the contract's class, so that this file does not compile if the contract renames that field. */
type Failed = { status: 'failed' } & Required<Pick<WebhookReport, 'errorCode'>>;

/** A body with fields that a script reports. These fields are sent unchecked, because the service validates them. */
type ReportedBody<Body, Names extends keyof Body> = Omit<Body, Names | 'jobId'> & Fields<Pick<Body, Names>>;
type WebhookReport = ReportedBody<JobWebhookBody, never>;
/** Final report of a run. A failed run has an errorCode. */
export type LastReport = Omit<WebhookReport, 'status' | 'errorCode'> &
  ({ status: 'completed' | 'cancelled' } | (Failed & { errorCode: RunErrorCode | ScriptErrorCode }));
export type StepReport = ReportedBody<StepStatusBody, 'usage'>;
export type FailedAccountReport = Fields<Pick<FailAccountBody, keyof FailAccountBody>>;
export type ClaimReport = ReportedBody<ClaimResult, keyof ClaimResult>;

/** One report about a run for the service. Its texts are redacted already. */
export type Item =
  | { kind: 'log'; entry: Omit<JobLogEntry, 'jobId'> }
  | { kind: 'webhook'; body: WebhookReport }
  | { kind: 'step'; body: StepReport }
  | { kind: 'claims'; claims: ClaimReport[] }
  | { kind: 'account'; pool: string; body: FailedAccountReport }
  | { kind: 'summary'; body: Record<string, unknown> }
  | { kind: 'upload'; file: string; filename: string; screenshot: boolean }
  /** The run's final report, which is sent after all other items of the run. */
  | { kind: 'terminal'; body: LastReport };

/** An item that the service will never receive, and why. */
export interface MissingItem {
  kind: DeliveredKind;
  reason: string;
}

/** Returns the stream of an item. Streams are delivered independently, so a large upload does not delay the steps. */
export function getStream(item: Item): Stream {
  if (item.kind === 'log') return 'logs';
  return item.kind === 'upload' ? 'uploads' : 'events';
}
