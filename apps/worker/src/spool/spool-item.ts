import type {
  ClaimResult,
  DeliveredKind,
  JobLogEntry,
  JobWebhookBody,
  RunErrorCode,
  ScriptErrorCode,
  StepStatusBody,
} from '@muster/contracts';
import type { Fields } from '../protocol/service';

export const lanes = ['events', 'logs', 'uploads'] as const;
export type Lane = (typeof lanes)[number];

/** By the contract's name, so that another name there does not compile here. */
type Failed = { status: 'failed' } & Required<Pick<WebhookReport, 'errorCode'>>;

/** What a script says of itself goes out as it said it: the service looks at it. */
type Said<Body, Names extends keyof Body> = Omit<Body, Names | 'jobId'> & Fields<Pick<Body, Names>>;
type WebhookReport = Said<JobWebhookBody, never>;
/** Of the end: what fails says why. */
export type LastReport = Omit<WebhookReport, 'status' | 'errorCode'> &
  ({ status: 'completed' | 'cancelled' } | (Failed & { errorCode: RunErrorCode | ScriptErrorCode }));
export type StepReport = Said<StepStatusBody, 'usage'>;
export type ClaimReport = Said<ClaimResult, keyof ClaimResult>;

/** One thing that the service must hear of a run. What it holds is redacted already. */
export type Item =
  | { kind: 'log'; entry: Omit<JobLogEntry, 'jobId'> }
  | { kind: 'webhook'; body: WebhookReport }
  | { kind: 'step'; body: StepReport }
  | { kind: 'claims'; claims: ClaimReport[] }
  | { kind: 'summary'; body: Record<string, unknown> }
  | { kind: 'upload'; file: string; filename: string; screenshot: boolean }
  /** Goes out when everything else of the run has. */
  | { kind: 'terminal'; body: LastReport };

/** Something that the service does not get, and why. */
export interface Lack {
  kind: DeliveredKind;
  reason: string;
}

/** Each lane is delivered in order by itself: a large upload doesn't hold back the steps. */
export function laneOf(item: Item): Lane {
  if (item.kind === 'log') return 'logs';
  return item.kind === 'upload' ? 'uploads' : 'events';
}
