import { AppError, type MicroUsd } from '@muster/contracts';
import { type BatchEntity, type Database, pageWithin } from '@muster/database';
import type { Page } from '@muster/platform';

export interface BatchRow extends Pick<
  BatchEntity,
  'id' | 'workflowId' | 'workflowRevision' | 'createdAt' | 'createdBy' | 'cancelRequestedAt' | 'total' | 'rejected'
> {
  queued: number;
  running: number;
  completed: number;
  failed: number;
  cancelled: number;
  claimsAttempted: number;
  claimsEobUploaded: number;
  claimsNoEobFound: number;
  claimsFailed: number;
  costMicros: MicroUsd;
}

// A row of the batch counts once, by its latest attempt; what earlier attempts cost was spent all the same.
const select = `SELECT b.id, b.workflow_id, b.workflow_revision, b.created_at, b.created_by, b.cancel_requested_at,
    b.total, b.rejected, c.queued, c.running, c.completed, c.failed, c.cancelled,
    c.attempted AS claims_attempted, c.eob_uploaded AS claims_eob_uploaded, c.no_eob_found AS claims_no_eob_found,
    c.claims_failed, c.cost AS cost_micros
  FROM page b CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE latest AND status = 'queued'))::int AS queued,
           (count(*) FILTER (WHERE latest AND status = 'running'))::int AS running,
           (count(*) FILTER (WHERE latest AND status = 'completed'))::int AS completed,
           (count(*) FILTER (WHERE latest AND status = 'failed'))::int AS failed,
           (count(*) FILTER (WHERE latest AND status = 'cancelled'))::int AS cancelled,
           COALESCE(sum(claims_attempted) FILTER (WHERE latest), 0)::int AS attempted,
           COALESCE(sum(claims_eob_uploaded) FILTER (WHERE latest), 0)::int AS eob_uploaded,
           COALESCE(sum(claims_no_eob_found) FILTER (WHERE latest), 0)::int AS no_eob_found,
           COALESCE(sum(claims_failed) FILTER (WHERE latest), 0)::int AS claims_failed,
           COALESCE(sum(total_cost_micros), 0)::bigint AS cost
    FROM (SELECT j.*, NOT EXISTS (SELECT FROM job r WHERE r.retry_of = j.id AND r.batch_id = b.id) AS latest
          FROM job j WHERE j.batch_id = b.id) j) c`;

export async function findBatch(database: Database, organizationId: string, id: string): Promise<BatchRow> {
  const [row] = await database.query<BatchRow>(
    { organizationId },
    `WITH page AS (SELECT * FROM batch WHERE id = $1 AND organization_id = $2) ${select}`,
    [id, organizationId],
  );
  if (!row) throw noSuchBatch();
  return row;
}

/**
 * Newest first: ids are made in the order of time. The runs of each are counted, so that a page of large batches ends
 * early.
 */
export function listBatches(
  database: Database,
  organizationId: string,
  { page, workflowId }: { page: Page; workflowId?: string },
): Promise<BatchRow[]> {
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['organization_id = $1'];
  if (page.after) conditions.push(`id < ${placed(page.after[0])}`);
  if (workflowId) conditions.push(`workflow_id = ${placed(workflowId)}`);
  const listed = pageWithin(
    `SELECT * FROM batch WHERE ${conditions.join(' AND ')} ORDER BY id DESC LIMIT ${placed(page.limit + 1)}`,
    { order: 'id DESC', bytes: `total * ${bytesOfRun}` },
  );
  return database.query<BatchRow>(
    { organizationId },
    `WITH page AS (${listed}) ${select.replace('SELECT', 'SELECT b.page_rows,')} ORDER BY b.id DESC`,
    values,
  );
}

/** What is read of a run to count it. */
const bytesOfRun = 400;

export function noSuchBatch(): AppError {
  return new AppError('not_found', { detail: 'There is no such batch.' });
}
