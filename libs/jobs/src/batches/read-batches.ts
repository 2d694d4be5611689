import { type BatchSort, type MicroUsd, notFoundError } from '@muster/contracts';
import {
  type BatchEntity,
  type Database,
  containsIgnoringCaseSql,
  limitPageSizeSql,
  scanRowsSql,
} from '@muster/database';
import type { Page, SortKind } from '@muster/platform';

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

// Each row of the batch is counted once, with the status of its latest attempt. The cost includes all attempts.
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
  if (!row) throw notFoundError('batch');
  return row;
}

export const getBatchSortKinds = (sort?: BatchSort): SortKind[] => (sortsBySize(sort) ? ['integer', 'id'] : ['id']);
const sortsBySize = (sort?: BatchSort) => sort?.endsWith('total') ?? false;

export interface BatchFilter {
  workflowId?: string;
  q?: string;
  sort?: BatchSort;
}

/**
 * Lists batches, by default the newest first, because ids increase with time. The runs of each listed batch are
 * counted, so a page with large batches ends before its limit.
 */
export function listBatches(
  database: Database,
  organizationId: string,
  { page, filter: { workflowId, q, sort } }: { page: Page; filter: BatchFilter },
): Promise<(BatchRow & { sortValue: string | null })[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const isBySize = sortsBySize(sort);
  const descends = sort?.startsWith('-') ?? true;
  const [direction, sign] = descends ? ['DESC', '<'] : ['ASC', '>'];
  const order = isBySize ? `total ${direction}, id ${direction}` : `id ${direction}`;
  const within = ['organization_id = $1'];
  const filter: string[] = [];
  if (page.after && isBySize) {
    within.push(`(total, id) ${sign} (${addParameter(page.after[0])}::int, ${addParameter(page.after[1])}::uuid)`);
  } else if (page.after) within.push(`id ${sign} ${addParameter(page.after[0])}`);
  if (workflowId) (isBySize ? filter : within).push(`workflow_id = ${addParameter(workflowId)}`);
  if (q) {
    const text = addParameter(q);
    filter.push(`(strpos(id::text, lower(${text})) > 0 OR workflow_id IN (
      SELECT w.id FROM workflow w WHERE w.organization_id = $1 AND ${containsIgnoringCaseSql('w.name', text)}))`);
  }
  const found = scanRowsSql({
    from: 'batch',
    columns: 'id, total',
    within,
    filter,
    order,
    limit: addParameter(page.limit + 1),
  });
  const listed = limitPageSizeSql(`SELECT b.*, f.matches, f.scan_end FROM (${found}) f JOIN batch b ON b.id = f.id`, {
    order,
    bytes: `total * ${bytesOfRun}`,
  });
  const columns = `SELECT b.page_rows, b.matches, b.scan_end, ${isBySize ? 'b.total::text' : 'NULL::text'} AS sort_value,`;
  return database.query<BatchRow & { sortValue: string | null }>(
    { organizationId },
    `WITH page AS (${listed}) ${select.replace('SELECT', columns)}
     ORDER BY ${isBySize ? `b.total ${direction}, ` : ''}b.id ${direction}`,
    values,
  );
}

/** Approximate number of bytes that are read to count one run. */
const bytesOfRun = 400;
