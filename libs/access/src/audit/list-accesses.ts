import type { AccessLogQuery } from '@muster/contracts';
import { type AccessEntryEntity, type Database, scanRowsSql } from '@muster/database';
import { formatCsvLine, smallestIdAt, type Page, parsePage, buildPage } from '@muster/platform';

/** Maximum difference between a row's time and the time in its id, which comes from another clock; in milliseconds. */
const apartMs = 10 * 60_000;

export type AccessRow = Omit<AccessEntryEntity, 'organizationId' | 'minute' | 'digest'>;

/** Lists who read which data of an organization, newest first. */
export function listAccessEntries(
  database: Database,
  organizationId: string,
  { userId, subject, from, to }: Omit<AccessLogQuery, 'limit' | 'cursor'>,
  page: Page,
): Promise<AccessRow[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  if (from) within.push(`id >= ${addParameter(smallestIdAt(new Date(Date.parse(from) - apartMs)))}`);
  if (to) within.push(`id < ${addParameter(smallestIdAt(new Date(Date.parse(to) + apartMs)))}`);
  const filter: string[] = [];
  if (from) filter.push(`at >= ${addParameter(from)}`);
  if (to) filter.push(`at <= ${addParameter(to)}`);
  if (subject) within.push(`subject_id = ${addParameter(subject)}`);
  if (userId) (subject ? filter : within).push(`actor_id = ${addParameter(userId)}`);
  const columns = 'id, at, actor_kind, actor_id, actor_email, address, route, subject_type, subject_id';
  const limit = addParameter(page.limit + 1);
  const text = scanRowsSql({ from: 'access_entry', columns, within, filter, order: 'id DESC', limit });
  return database.query<AccessRow>({ organizationId }, text, values);
}

const pageRows = 500;
const head = ['at', 'userOrKey', 'email', 'address', 'subjectType', 'subjectId', 'route'];

/** Yields the rows of `listAccessEntries` as CSV, one chunk per page. */
export async function* exportAccessEntries(
  database: Database,
  organizationId: string,
  query: Omit<AccessLogQuery, 'limit' | 'cursor'>,
): AsyncGenerator<string> {
  yield `\ufeff${formatCsvLine(head)}`;
  for (let cursor: string | undefined; ;) {
    const page = parsePage({ limit: pageRows, cursor }, 'id');
    const { items, nextCursor } = buildPage(
      await listAccessEntries(database, organizationId, query, page),
      page,
      ({ id }) => [id],
    );
    if (items.length > 0) yield items.map(formatAccessAsCsvLine).join('');
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

function formatAccessAsCsvLine({ at, actorId, actorEmail, address, subjectType, subjectId, route }: AccessRow): string {
  return formatCsvLine([at.toISOString(), actorId, actorEmail, address, subjectType, subjectId, route]);
}
