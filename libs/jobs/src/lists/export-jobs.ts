import type { JobSort } from '@muster/contracts';
import { usdOrNull } from '@muster/contracts';
import { type Database, placeOf } from '@muster/database';
import { csvLine, pageOf, paginate } from '@muster/platform';
import type { JobFilters } from './job-filters';
import { listJobs, sortKindsOf } from './list-jobs';
import type { ListedJob } from './job-row';

const columns = [
  ...[
    'id',
    'status',
    'workflowId',
    'workflow',
    'agentId',
    'agent',
    'queuedAt',
    'startedAt',
    'finishedAt',
    'durationMs',
  ],
  ...['totalCostUsd', 'claimsAttempted', 'claimsEobUploaded', 'claimsNoEobFound', 'claimsFailed', 'attempt'],
  ...['scheduleId', 'batchId', 'error', 'errorCode'],
];
const pageRows = 200;

/**
 * Runs as CSV, in the order asked for, a piece for each page: each page begins behind the last one's end, so that
 * neither the rows nor the file are ever held. What is queued meanwhile is no part of it.
 */
export async function* exportJobs(
  database: Database,
  organizationId: string,
  { filter, sort, now }: { filter: JobFilters; sort?: JobSort; now: Date },
): AsyncGenerator<string> {
  yield `\ufeff${csvLine(columns)}`;
  const asked = { ...filter, to: filter.to ?? now.toISOString() };
  for (let cursor: string | undefined; ;) {
    const page = pageOf({ limit: pageRows, cursor }, ...sortKindsOf(sort));
    const rows = await listJobs(database, organizationId, { page, filter: asked, sort });
    const { items, nextCursor } = paginate(rows, page, placeOf);
    if (items.length > 0) yield items.map(lineOf).join('');
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

function lineOf(row: ListedJob): string {
  const { startedAt, finishedAt } = row;
  const durationMs = startedAt && finishedAt && finishedAt.getTime() - startedAt.getTime();
  return csvLine([
    ...[row.id, row.status, row.workflowId, row.workflowName, row.agentId, row.agentName],
    ...[row.queuedAt, startedAt, finishedAt].map((at) => at?.toISOString() ?? null),
    ...[durationMs, usdOrNull(row.totalCostMicros), row.claimsAttempted, row.claimsEobUploaded].map(textOf),
    ...[row.claimsNoEobFound, row.claimsFailed, row.attempt].map(textOf),
    ...[row.scheduleId, row.batchId, row.error, row.errorCode],
  ]);
}

function textOf(value: number | null): string | null {
  return value === null ? null : String(value);
}
