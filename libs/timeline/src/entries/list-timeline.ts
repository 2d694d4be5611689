import { type AgentLogsQuery, agentNotFoundError } from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  maxRowsLookedAt,
  limitPageSizeSql,
  scanRowsSql,
} from '@muster/database';
import type { Page } from '@muster/platform';
import type { EntryKind } from './append-timeline';
import { findNumbersOfPeriod } from './find-numbers-of-period';
import type { TimelineRow } from './timeline-event';

/**
 * Lists an agent's timeline, by default newest first. Returns one row more than the page's limit if there are more
 * rows.
 */
export async function listTimeline(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  query: AgentLogsQuery,
  page: Page,
): Promise<TimelineRow[]> {
  const rows = await scanUntilFull(database, organizationId, page, { ...query, order: query.order ?? 'desc', agentId });
  if (rows.length === 0) await requireExistingAgent(database, organizationId, agentId);
  return rows;
}

/** Lists the log of a job, by default oldest first. */
export function readJobLogs(
  database: Database,
  organizationId: string,
  jobId: string,
  page: Page,
  filters: Pick<AgentLogsQuery, 'level' | 'q' | 'from' | 'to' | 'order'> = {},
): Promise<TimelineRow[]> {
  return scanUntilFull(database, organizationId, page, {
    ...filters,
    order: filters.order ?? 'asc',
    jobId,
    kind: 'execution',
  });
}

interface Filters extends Pick<AgentLogsQuery, 'level' | 'jobId' | 'q' | 'from' | 'to'> {
  agentId?: string;
  kind?: EntryKind;
  order: 'asc' | 'desc';
}

/** Milliseconds after which a request starts no further scan. Applies to searches that no index can answer. */
const maxSearchMs = 150;
/** Maximum number of scans of one request. */
const maxScans = 10;
/** Number of bytes of messages on a page above which no further scan is started. */
const maxSearchedBytes = 1024 * 1024;

/** Scans repeatedly until the page is full. Otherwise a search in a long log would need a hundred requests. */
async function scanUntilFull(
  database: Database,
  organizationId: string,
  page: Page,
  filters: Filters,
): Promise<TimelineRow[]> {
  const until = performance.now() + maxSearchMs;
  const numbers = await findNumbersOfRange(database, organizationId, filters);
  const rows: ScannedRow[] = [];
  let { after, limit } = page;
  let pageRows = 0;
  for (let scans = 1; ; scans += 1) {
    const found = await scanOnePage(database, organizationId, { after, limit }, { ...filters, numbers });
    rows.push(...found);
    pageRows += found[0]?.pageRows ?? 0;
    limit -= found.filter(({ matches }) => matches).length;
    const end = found.at(-1);
    // No further scan is needed: the page is full, or it was cut short because of its size, or there are no more rows.
    if (!end?.scanEnd || end.pageRows > found.length || limit <= 0) break;
    const bytes = rows.reduce((sum, { message }) => sum + message.length, 0);
    if (scans === maxScans || performance.now() > until || bytes > maxSearchedBytes) break;
    after = [String(end.seq)];
  }
  if (rows[0]) rows[0].pageRows = pageRows;
  return rows;
}

interface ScannedRow extends TimelineRow {
  pageRows: number;
  matches: boolean;
  scanEnd: boolean;
}

async function scanOnePage(
  database: Database,
  organizationId: string,
  page: Page,
  filters: Filters & { numbers: Numbers | null },
): Promise<ScannedRow[]> {
  const { agentId, kind, level, jobId, q, from, to, order, numbers } = filters;
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  const filter: string[] = [];
  if (page.after) within.push(`seq ${order === 'asc' ? '>' : '<'} ${addParameter(page.after[0])}`);
  if (jobId) within.push(`job_id = ${addParameter(jobId)}`);
  if (agentId) {
    const agent = addParameter(agentId);
    (jobId ? filter : within).push(`agent_id = ${agent}`);
    // This condition prevents a scan of the timeline if the agent belongs to another organization.
    within.push(`EXISTS (SELECT FROM agent a WHERE a.id = ${agent} AND a.organization_id = $1)`);
  }
  if (kind) filter.push(`kind = ${addParameter(kind)}`);
  if (level) filter.push(`level = ${addParameter(level)}`);
  if (q) filter.push(containsIgnoringCaseSql('message', addParameter(q)));
  if (from) filter.push(`at >= ${addParameter(from)}`);
  if (to) filter.push(`at <= ${addParameter(to)}`);
  const listed = scanRowsSql({
    from: numbers ? entriesOfPeriodSql(within, { ...filters, numbers }, addParameter) : 'timeline_entry',
    columns: 'seq, kind, level, message, source, job_id, data, at',
    within: numbers ? ['true'] : within,
    filter,
    order: `seq ${order}`,
    limit: addParameter(page.limit + 1),
  });
  return database.queryInOrder<ScannedRow>(
    { organizationId },
    limitPageSizeSql(listed, {
      order: `seq ${order}`,
      bytes: 'octet_length(message) + COALESCE(octet_length(data::text), 0)',
    }),
    values,
  );
}

type Numbers = Awaited<ReturnType<typeof findNumbersOfPeriod>>;

/**
 * Returns the range of entry numbers in a period of an agent's timeline. Null for a job, whose log is short enough to
 * be scanned.
 */
async function findNumbersOfRange(
  database: Database,
  organizationId: string,
  { agentId, jobId, from, to }: Filters,
): Promise<Numbers | null> {
  if (agentId === undefined || jobId !== undefined || (from ?? to) === undefined) return null;
  return findNumbersOfPeriod(database, { organizationId, agentId }, { from, to });
}

/**
 * Returns the SQL for the candidates of a period: entries from the months of the period that were recorded when they
 * happened, and all entries that were recorded late or with a wrong clock. There are few of the latter, and they have a
 * separate index.
 */
function entriesOfPeriodSql(
  within: string[],
  { from, to, order, numbers }: Pick<Filters, 'from' | 'to' | 'order'> & { numbers: { after: string; upto: string } },
  addParameter: (value: unknown) => string,
): string {
  const inTime = [
    // A CASE, because Postgres has no statistics about this expression. It would expect a BETWEEN to match one row in
    // 200, and would sort the matching rows.
    `CASE WHEN recorded_at - at BETWEEN ${hourAhead} AND ${hourBehind} THEN true ELSE false END`,
    `seq > ${addParameter(numbers.after)}`,
    `seq <= ${addParameter(numbers.upto)}`,
  ];
  if (from) inTime.push(`recorded_at >= ${addParameter(new Date(Date.parse(from) - hourMs))}`);
  if (to) inTime.push(`recorded_at <= ${addParameter(new Date(Date.parse(to) + hourMs))}`);
  // Each part has its own limit, so that Postgres reads the part in the order of an index instead of sorting the whole
  // period.
  const readEntriesSql = (conditions: string[]) =>
    `(SELECT seq, kind, level, message, source, job_id, data, at FROM timeline_entry
      WHERE ${conditions.join(' AND ')} ORDER BY seq ${order} LIMIT ${maxRowsLookedAt})`;
  return `(${readEntriesSql([...within, ...inTime])} UNION ALL ${readEntriesSql([
    ...within,
    `recorded_at - at NOT BETWEEN ${hourAhead} AND ${hourBehind}`,
  ])}) entry`;
}

const hourMs = 3_600_000;
/**
 * These bounds must be equal to those in the condition of the index timeline_entry_other_time_idx, so that Postgres
 * uses the index.
 */
const hourAhead = `'-1 hour'::interval`;
const hourBehind = `'1 hour'::interval`;

async function requireExistingAgent(database: Database, organizationId: string, agentId: string): Promise<void> {
  const [found] = await database.query(
    { organizationId },
    'SELECT FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
    'agent_exists',
  );
  if (!found) throw agentNotFoundError();
}
