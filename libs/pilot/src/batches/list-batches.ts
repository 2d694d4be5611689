import type { MicroUsd } from '@muster/contracts';
import type { Database, PilotBatchEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { type Period, withinPeriodSql } from './period';

export type BatchRow = Pick<
  PilotBatchEntity,
  | 'id'
  | 'batchId'
  | 'jobId'
  | 'workerKey'
  | 'startedAt'
  | 'finishedAt'
  | 'ingestedAt'
  | 'occurredAt'
  | 'claimsAttempted'
  | 'claimsEobUploaded'
  | 'claimsNoEobFound'
  | 'claimsFailed'
  | 'stopEvents'
  | 'processingMicros'
> & {
  /** Cost of the batch's job, also after the job was deleted. Null if there is no job or no cost yet. */
  totalCostMicros: MicroUsd | null;
};

/** Columns of a batch, for statements that select from `batchSource`. */
export const batchColumns = `b.id, b.batch_id, b.job_id, b.worker_key,
  b.started_at, b.finished_at, b.ingested_at,
  b.occurred_at, b.claims_attempted,
  b.claims_eob_uploaded, b.claims_no_eob_found,
  b.claims_failed, b.stop_events, b.processing_micros,
  COALESCE(j.total_cost_micros, b.deleted_job_cost_micros) AS total_cost_micros`;

export const batchSource = 'pilot_batch b LEFT JOIN job j ON j.id = b.job_id';

interface BatchFilter extends Period {
  workflowId?: string;
  jobId?: string;
}

interface Listing {
  page: Page;
  filter: BatchFilter;
}

/** Lists pilot batches, the latest first. */
export function listPilotBatches(database: Database, organizationId: string, listing: Listing): Promise<BatchRow[]> {
  const { text, values } = buildListBatchesStatement(organizationId, listing);
  return database.query<BatchRow>({ organizationId }, text, values);
}

export function buildListBatchesStatement(organizationId: string, { page, filter }: Listing) {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['b.organization_id = $1', ...withinPeriodSql('b.occurred_at', filter, values)];
  if (filter.workflowId) conditions.push(`b.workflow_id = ${addParameter(filter.workflowId)}`);
  if (filter.jobId) conditions.push(`b.job_id = ${addParameter(filter.jobId)}`);
  if (page.after) {
    const [at, id] = page.after;
    conditions.push(`(b.occurred_at, b.id) < (${addParameter(at)}::timestamptz, ${addParameter(id)}::uuid)`);
  }
  const limit = addParameter(page.limit + 1);
  return {
    text: `SELECT ${batchColumns} FROM ${batchSource}
     WHERE ${conditions.join(' AND ')} ORDER BY b.occurred_at DESC, b.id DESC LIMIT ${limit}`,
    values,
  };
}
