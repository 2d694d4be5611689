import type { ClaimResult, JobLogEntry, JobWebhookBody, StepStatusBody } from '@muster/contracts';
import type { Fields } from '../protocol/service';

export const lanes = ['events', 'logs', 'uploads'] as const;
export type Lane = (typeof lanes)[number];

/** What a script says of itself goes out as it said it: the service looks at it. */
type Said<Body, Names extends keyof Body> = Omit<Body, Names | 'jobId'> & Fields<Pick<Body, Names>>;
export type WebhookReport = Said<JobWebhookBody, never>;
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
  | { kind: 'terminal'; body: WebhookReport };

/** Each lane is delivered in order by itself: a large upload doesn't hold back the steps. */
export function laneOf(item: Item): Lane {
  if (item.kind === 'log') return 'logs';
  return item.kind === 'upload' ? 'uploads' : 'events';
}
