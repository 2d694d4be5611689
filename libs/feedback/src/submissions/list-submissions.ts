import { hasRole, type FeedbackFilter } from '@muster/contracts';
import type { Principal } from '@muster/access';
import { type Database, pageWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import { submissionColumns, type SubmissionRow } from './submission-row';
import { withinPeriod } from './within-period';

/** Whose submissions somebody sees: an admin all of the organization, others their own. */
export function visibleTo({ role, id }: Principal): string | null {
  return hasRole(role, 'admin') ? null : id;
}

/** Newest first: ids are made in the order of time. */
export function listSubmissions(
  database: Database,
  caller: Principal,
  { page, filter }: { page: Page; filter: Pick<FeedbackFilter, 'type' | 'status' | 'from' | 'to'> },
): Promise<SubmissionRow[]> {
  const { organizationId } = caller;
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['s.organization_id = $1', ...withinPeriod(filter, placed)];
  const equals = (column: string, value: unknown) => {
    if (value !== undefined && value !== null) conditions.push(`${column} = ${placed(value)}`);
  };
  equals('s.reporter_id', visibleTo(caller));
  equals('s.type', filter.type);
  equals('s.status', filter.status);
  if (page.after) conditions.push(`s.id < ${placed(page.after[0])}::uuid`);
  return database.query<SubmissionRow>(
    { organizationId },
    pageWithin(
      `SELECT ${submissionColumns} FROM feedback_submission s
       WHERE ${conditions.join(' AND ')} ORDER BY s.id DESC LIMIT ${placed(page.limit + 1)}`,
      { order: 'id DESC', bytes: 'octet_length(description) + COALESCE(octet_length(steps), 0)' },
    ),
    values,
  );
}
