import { type FeedbackFilter, hasPermission } from '@muster/contracts';
import type { Principal } from '@muster/access';
import { type Database, containsIgnoringCaseSql, limitPageSizeSql, scanRowsSql } from '@muster/database';
import { smallestIdAt, type Page } from '@muster/platform';
import { submissionColumns, type SubmissionRow } from './submission-row';
import { withinPeriodSql } from './within-period';

/**
 * Returns the id of the reporter whose submissions the caller sees; null if the caller may see all of the
 * organization.
 */
export function getVisibleReporter(caller: Principal): string | null {
  return hasPermission(caller, 'feedback.admin') ? null : caller.id;
}

/** Lists submissions, newest first: ids are ordered by creation time. */
export function listSubmissions(
  database: Database,
  caller: Principal,
  { page, filter }: { page: Page; filter: Pick<FeedbackFilter, 'type' | 'status' | 'q' | 'from' | 'to'> },
): Promise<SubmissionRow[]> {
  const { organizationId } = caller;
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}::uuid`);
  const { from, to } = filter;
  if (from) within.push(`id >= ${addParameter(smallestIdAt(new Date(Date.parse(from) - apartMs)))}::uuid`);
  if (to) within.push(`id < ${addParameter(smallestIdAt(new Date(Date.parse(to) + dayMs + apartMs)))}::uuid`);
  // The most selective condition selects a range of an index, and the other conditions filter the rows in that range.
  const [first, ...others] = [
    ['reporter_id', getVisibleReporter(caller)],
    ['status', filter.status],
    ['type', filter.type],
  ].flatMap(([column, value]) => (value ? [`${column} = ${addParameter(value)}`] : []));
  if (first) within.push(first);
  if (filter.q) others.push(containsIgnoringCaseSql("title || ' ' || description", addParameter(filter.q)));
  const listed = scanRowsSql({
    from: 'feedback_submission',
    columns: 'id',
    within,
    filter: [...others, ...withinPeriodSql(filter, addParameter, 'scanned')],
    order: 'id DESC',
    limit: addParameter(page.limit + 1),
  });
  return database.query<SubmissionRow>(
    { organizationId },
    limitPageSizeSql(
      `SELECT ${submissionColumns}, p.matches, p.scan_end
       FROM (${listed}) p JOIN feedback_submission s ON s.id = p.id ORDER BY s.id DESC`,
      { order: 'id DESC', bytes: 'octet_length(description) + COALESCE(octet_length(steps), 0)' },
    ),
    values,
  );
}

const dayMs = 86_400_000;
/**
 * Maximum difference between the start of a day in UTC and the time in the id of a row of that day: the offset of a
 * time zone, plus the difference between the time of a row and the time in its id.
 */
const apartMs = 26 * 3_600_000;
