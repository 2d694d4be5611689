import type { JobSort } from '@muster/contracts';
import { rowsAfterPositionSql, type Database, sortKeyTextSql, limitPageSizeSql, scanRowsSql } from '@muster/database';
import type { Page, SortKind } from '@muster/platform';
import {
  buildAllConditions,
  buildEndTimeConditions,
  type JobFilters,
  buildIndexedConditions,
  buildRowConditions,
} from './job-filters';
import { jobBytesSql, jobColumns, jobSource, type ListedJob } from './job-row';

/** A job of the list with the page information that the statement returns. */
interface FoundJob extends ListedJob {
  pageRows: number;
  scanEnd: boolean;
}

type SortName = Exclude<JobSort, `-${string}`>;

export interface JobSorting {
  kind: 'queued' | 'other';
  name: SortName;
  descends: boolean;
  /** Types of the values in a page cursor. */
  cursor: SortKind[];
}

interface Order {
  /**
   * The source of the rows in this order: `source` is the table or join, `key` the indexed column, `id` the column with
   * the run's id.
   */
  source: string;
  key: string;
  id: string;
  /** SQL expression that computes the value of `key` from a row of `job`. */
  value: string;
  type: 'timestamptz' | 'bigint';
  /**
   * Maximum number of rows that are scanned for one response. It is smaller for a list sorted by cost, because each row
   * is joined with its run.
   */
  rows: number;
}

const timeToEpochMsSql = (column: string) => `floor(EXTRACT(epoch FROM ${column}) * 1000)`;
const createTimeOrder = (key: string): Order => ({
  ...{ source: 'job', key, id: 'id', value: key, type: 'timestamptz', rows: 2500 },
});
const createCostOrder = (key: string, value: string): Order => ({
  ...{ source: 'run_cost r JOIN job j ON j.id = r.job_id', key, id: 'job_id', value },
  ...{ type: 'bigint', rows: 800 },
});

const orders: Record<Exclude<SortName, 'queuedAt'>, Order> = {
  startedAt: createTimeOrder('started_at'),
  finishedAt: createTimeOrder('finished_at'),
  durationMs: createCostOrder(
    'duration_ms',
    `(${timeToEpochMsSql('finished_at')} - ${timeToEpochMsSql('started_at')})::bigint`,
  ),
  // The cost of an open run still changes, so open runs have no value to sort by.
  totalCostUsd: createCostOrder('total_micros', 'CASE WHEN finished_at IS NOT NULL THEN total_cost_micros END'),
};

/**
 * Maximum number of runs that are sorted after filtering. If more runs match, the index of the sort order is scanned.
 */
const maxSortedRuns = 2500;

export function parseJobSorting(sort: JobSort): JobSorting {
  const descends = sort.startsWith('-');
  const name = sort.replace('-', '') as SortName;
  if (name === 'queuedAt') return { kind: 'queued', name, descends, cursor: ['id'] };
  return { kind: 'other', name, descends, cursor: [orders[name].type === 'bigint' ? 'amount' : 'instant', 'id'] };
}

interface ListRequest {
  page: Page;
  filter: JobFilters;
  sorting: JobSorting;
}

/**
 * Lists runs in the order of one of their values. Runs without the value come last, in the order of their ids. If the
 * filter narrows the list to few runs by an index, these runs are sorted. Otherwise the index of the sort order is
 * scanned up to a maximum number of rows, and the runs without the value follow when the index has ended.
 */
export async function listSortedJobs(
  database: Database,
  organizationId: string,
  request: ListRequest,
): Promise<ListedJob[]> {
  const { page, sorting } = request;
  const order = orders[sorting.name as keyof typeof orders];
  if (await matchesFewRuns(database, organizationId, request))
    return readSortedPage(database, organizationId, request, createSortedListing(order));
  const isBehind = page.after?.[0] === '';
  const valued = isBehind ? [] : await readSortedPage(database, organizationId, request, readRowsByIndexSql(order));
  const isCut = valued.length > page.limit || (valued[0]?.pageRows ?? 0) > valued.length;
  if (isCut || valued.at(-1)?.scanEnd) return valued;
  // The runs without a value have not ended yet, so none of them matches a filter on the time of the end.
  if (order.key === 'finished_at' && (request.filter.endedFrom || request.filter.endedTo)) return valued;
  const remaining = { ...request, page: { limit: page.limit - valued.length, after: isBehind ? page.after : null } };
  const others = await readSortedPage(database, organizationId, remaining, readRowsWithoutValueSql(order));
  return joinPartsOfPage(valued, others);
}

/**
 * Builds the statement that selects the ids of a page; the runs are read afterwards. Its columns are `id`, `sort_key`,
 * `matches` and `scan_end`.
 */
type Listing = (input: {
  filter: JobFilters;
  after: { value: string; id: string } | null;
  descends: boolean;
  limit: string;
  addParameter: (value: unknown) => string;
}) => string;

const sortDirectionSql = (descends: boolean) => (descends ? 'DESC' : 'ASC');
const comesAfterOperatorSql = (descends: boolean) => (descends ? '<' : '>');

function createSortedListing({ value, type }: Order): Listing {
  return ({ filter, after, descends, limit, addParameter }) => {
    const conditions = [...buildIndexedConditions(filter, addParameter), ...buildRowConditions(filter, addParameter)];
    const found = `SELECT id, ${value} AS sort_key FROM job WHERE ${conditions.join(' AND ')}`;
    const behind = after
      ? [rowsAfterPositionSql({ last: after.value, id: after.id, descends, type, addParameter })]
      : ['true'];
    return `SELECT id, sort_key, true AS matches, false AS scan_end FROM (${found}) found
      WHERE ${behind.join()} ORDER BY sort_key ${sortDirectionSql(descends)} NULLS LAST, id ${sortDirectionSql(descends)} LIMIT ${limit}`;
  };
}

function readRowsByIndexSql({ source, key, id, type, rows }: Order): Listing {
  return ({ filter, after, descends, limit, addParameter }) => {
    const owner = source === 'job' ? 'organization_id' : 'r.organization_id';
    const within = [`${owner} = $1`, `${key} IS NOT NULL`];
    if (key === 'finished_at') within.push(...buildEndTimeConditions(filter, addParameter));
    if (after) {
      within.push(
        `(${key}, ${id}) ${comesAfterOperatorSql(descends)} (${addParameter(after.value)}::${type}, ${addParameter(after.id)}::uuid)`,
      );
    }
    const order = `${key} ${sortDirectionSql(descends)}, ${id} ${sortDirectionSql(descends)}`;
    const listed = scanRowsSql({
      from: source,
      columns: `${id}, ${key}`,
      within,
      filter: buildAllConditions(filter, addParameter),
      order,
      limit,
      rows,
    });
    // Only columns of the index are selected here, so that the scan reads no runs. The runs are joined afterwards, only
    // for the rows of the page.
    return `SELECT ${id} AS id, ${key} AS sort_key, matches, scan_end FROM (${listed}) listed`;
  };
}

function readRowsWithoutValueSql({ source, key, rows, type }: Order): Listing {
  return ({ filter, after, descends, limit, addParameter }) => {
    const within = ['organization_id = $1'];
    if (after) within.push(`id ${comesAfterOperatorSql(descends)} ${addParameter(after.id)}::uuid`);
    // The cost is read by a subquery for each row. Postgres would execute an EXISTS as a scan of the costs of all runs.
    const cost = `(SELECT r.${key} FROM run_cost r WHERE r.job_id = scanned.id)`;
    const conditions = [`${source === 'job' ? key : cost} IS NULL`, ...buildAllConditions(filter, addParameter)];
    const order = `id ${sortDirectionSql(descends)}`;
    const listed = scanRowsSql({ from: 'job', columns: 'id', within, filter: conditions, order, limit, rows });
    return `SELECT id, NULL::${type} AS sort_key, matches, scan_end FROM (${listed}) listed`;
  };
}

async function readSortedPage(
  database: Database,
  organizationId: string,
  { page, filter, sorting: { name, descends } }: ListRequest,
  listing: Listing,
): Promise<FoundJob[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const [value, id] = page.after ?? [];
  const after = id === undefined ? null : { value: value!, id };
  const listed = listing({ filter, after, descends, limit: addParameter(page.limit + 1), addParameter });
  const order = `sort_key ${sortDirectionSql(descends)} NULLS LAST, id ${sortDirectionSql(descends)}`;
  const { type } = orders[name as keyof typeof orders];
  const whole = `SELECT ${jobColumns}, p.matches, p.scan_end, p.sort_key FROM (${listed}) p JOIN ${jobSource} ON j.id = p.id`;
  return database.query<FoundJob>(
    { organizationId },
    `SELECT sorted.*, COALESCE(CASE WHEN sort_key IS NOT NULL THEN ${sortKeyTextSql(type, 'sorted')} END, '') AS sort_value
     FROM (${limitPageSizeSql(whole, { order, bytes: jobBytesSql })}) sorted ORDER BY ${order}`,
    values,
  );
}

async function matchesFewRuns(database: Database, organizationId: string, { filter }: ListRequest): Promise<boolean> {
  const values: unknown[] = [organizationId];
  const range = buildIndexedConditions(filter, (value) => `$${values.push(value)}`);
  const [found] = await database.query<{ count: number }>(
    { organizationId },
    `SELECT count(*)::int AS count FROM (SELECT FROM job WHERE ${range.join(' AND ')} LIMIT ${maxSortedRuns + 1}) few`,
    values,
  );
  return found!.count <= maxSortedRuns;
}

/**
 * Joins the runs with a value and the runs without it to one page. If the scan of the second part stopped at its row
 * limit, so did the page.
 */
function joinPartsOfPage(valued: FoundJob[], others: FoundJob[]): ListedJob[] {
  const [first, ...following] = [...valued, ...others];
  if (!first) return [];
  return [{ ...first, pageRows: valued.length + (others[0]?.pageRows ?? 0) }, ...following];
}
