import type { PilotBatchEntity, PilotRoiDayEntity, PilotRoiMetricEntity, PilotRoiTimesEntity } from '@muster/database';
import { computeHistogramBucket, countRepeatedKeys, encodeBucketCounts } from './histogram';

/** Columns of a batch that a day's totals are computed from. */
export type BatchOfDay = Pick<
  PilotBatchEntity,
  'workflowId' | 'claimsAttempted' | 'claimsEobUploaded' | 'claimsNoEobFound' | 'claimsFailed'
> &
  Pick<PilotRoiMetricEntity, 'processingMicros'>;

export type DayRow = Omit<PilotRoiDayEntity, 'organizationId'>;
export type TimesRow = Omit<PilotRoiTimesEntity, 'organizationId'>;

/** Workflow id of the rows that cover all batches, also those without a workflow. */
export const everyWorkflow = '00000000-0000-0000-0000-000000000000';

/** Computes a day's rows in the rollups: one for each workflow, and one for all batches. */
export function summarizeDay(day: string, batches: BatchOfDay[]): { days: DayRow[]; times: TimesRow[] } {
  const byWorkflow = new Map<string, BatchOfDay[]>([[everyWorkflow, batches]]);
  for (const batch of batches) {
    if (batch.workflowId === null) continue;
    const own = byWorkflow.get(batch.workflowId);
    if (own) own.push(batch);
    else byWorkflow.set(batch.workflowId, [batch]);
  }
  const parts = [...byWorkflow]
    .filter(([, own]) => own.length > 0)
    .map(([id, own]) => summarizeWorkflowDay(day, id, own));
  return { days: parts.map((part) => part.day), times: parts.flatMap((part) => part.times) };
}

function summarizeWorkflowDay(
  day: string,
  workflowId: string,
  batches: BatchOfDay[],
): { day: DayRow; times: TimesRow[] } {
  const sumClaims = (key: 'claimsAttempted' | 'claimsEobUploaded' | 'claimsNoEobFound' | 'claimsFailed') =>
    batches.reduce((total, batch) => total + batch[key], 0);
  const all = Float64Array.from(batches.flatMap(({ processingMicros }) => processingMicros)).sort();
  const buckets = countRepeatedKeys(all.map(computeHistogramBucket));
  let from = 0;
  const times = buckets.keys.map((bucket, at): TimesRow => {
    const own = all.subarray(from, (from += buckets.counts[at]!));
    return { workflowId, bucket, day, times: encodeBucketCounts(countRepeatedKeys(own)) };
  });
  const row = {
    workflowId,
    day,
    batches: batches.length,
    attempted: sumClaims('claimsAttempted'),
    eobUploaded: sumClaims('claimsEobUploaded'),
    noEobFound: sumClaims('claimsNoEobFound'),
    failed: sumClaims('claimsFailed'),
    timed: all.length,
    processingMicros: [...all].reduce((total, micros) => total + BigInt(micros), 0n),
    histogram: encodeBucketCounts(buckets),
  };
  return { day: row, times };
}
