import type { JobSort } from '@muster/contracts';
import { microsToUsdOrNull } from '@muster/contracts';
import { type Database, getPositionValues } from '@muster/database';
import { formatCsvLine, parsePage, buildPage } from '@muster/platform';
import type { JobFilters } from './job-filters';
import { listJobs, getSortKinds } from './list-jobs';
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
 * Exports runs as CSV in the requested order, page by page. Each page continues after the previous one, so neither the
 * rows nor the file are held in memory. Runs that are queued during the export are left out.
 */
export async function* exportJobs(
  database: Database,
  organizationId: string,
  { filter, sort, now }: { filter: JobFilters; sort?: JobSort; now: Date },
): AsyncGenerator<string> {
  yield `\ufeff${formatCsvLine(columns)}`;
  const bounded = { ...filter, to: filter.to ?? now.toISOString() };
  for (let cursor: string | undefined; ;) {
    const page = parsePage({ limit: pageRows, cursor }, ...getSortKinds(sort));
    const rows = await listJobs(database, organizationId, { page, filter: bounded, sort });
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    if (items.length > 0) yield items.map(formatJobAsCsvLine).join('');
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

function formatJobAsCsvLine(row: ListedJob): string {
  const { startedAt, finishedAt } = row;
  const durationMs = startedAt && finishedAt && finishedAt.getTime() - startedAt.getTime();
  return formatCsvLine([
    ...[row.id, row.status, row.workflowId, row.workflowName, row.agentId, row.agentName],
    ...[row.queuedAt, startedAt, finishedAt].map((at) => at?.toISOString() ?? null),
    ...[durationMs, microsToUsdOrNull(row.totalCostMicros), row.claimsAttempted, row.claimsEobUploaded].map(
      numberToText,
    ),
    ...[row.claimsNoEobFound, row.claimsFailed, row.attempt].map(numberToText),
    ...[row.scheduleId, row.batchId, row.error, row.errorCode],
  ]);
}

function numberToText(value: number | null): string | null {
  return value === null ? null : String(value);
}
