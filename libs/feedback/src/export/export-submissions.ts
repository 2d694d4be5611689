import type { FeedbackStatus, FeedbackType } from '@muster/contracts';
import type { Database } from '@muster/database';
import { formatCsvLine, newId, nilId } from '@muster/platform';
import { externalColumns, type SubmissionRow } from '../submissions/submission-row';
import { type Period, withinPeriodSql } from '../submissions/within-period';

export interface ExportFilter extends Period {
  type?: FeedbackType;
  status?: FeedbackStatus;
  /** Id or name of the organization. */
  organization?: string;
  /** Id or name of the agent. */
  vm?: string;
}

type ExportRow = Pick<
  SubmissionRow,
  'id' | 'type' | 'status' | 'title' | 'description' | 'createdAt' | 'issueUrl' | 'taskUrl'
> & { organization: string; vm: string | null; reporter: string };

const columns = [
  ...['id', 'type', 'status', 'organization', 'vm', 'title', 'description', 'reporter', 'createdAt'],
  ...['externalIssue', 'externalTask'],
];
const pageRows = 500;

/**
 * Streams the submissions of all organizations as CSV, oldest first, one chunk per page. Each page starts after the
 * last row of the previous one, so memory stays flat. Submissions that are created after the start are not included.
 */
export async function* exportSubmissions(database: Database, filter: ExportFilter): AsyncGenerator<string> {
  const until = newId();
  yield `\ufeff${formatCsvLine(columns)}`;
  const statement = await buildExportStatement(database, filter, until);
  for (let after = nilId; ;) {
    const rows = await database.queryInOrder<ExportRow>('system', statement.text, [after, ...statement.values]);
    if (rows.length > 0) yield rows.map(toCsvLine).join('');
    if (rows.length < pageRows) return;
    after = rows.at(-1)!.id;
  }
}

async function buildExportStatement(database: Database, filter: ExportFilter, until: string) {
  const values: unknown[] = [];
  const addParameter = (value: unknown) => `$${values.push(value) + 1}`;
  const conditions = ['s.id > $1', `s.id < ${addParameter(until)}`, ...withinPeriodSql(filter, addParameter)];
  if (filter.type) conditions.push(`s.type = ${addParameter(filter.type)}`);
  if (filter.status) conditions.push(`s.status = ${addParameter(filter.status)}`);
  for (const [column, table, named] of [
    ['s.organization_id', 'organization', filter.organization],
    ['s.agent_id', 'agent', filter.vm],
  ] as const) {
    if (named === undefined) continue;
    const found = await database.query<{ id: string }>(
      'system',
      `SELECT id FROM ${table} WHERE name = $1 OR id::text = lower($1)`,
      [named],
    );
    conditions.push(`${column} = ANY(${addParameter(found.map(({ id }) => id))}::uuid[])`);
  }
  const text = `SELECT s.id, s.type, s.status, o.name AS organization, a.name AS vm, s.title, s.description,
      COALESCE(s.reporter_email, s.reporter_id) AS reporter, s.created_at, ${externalColumns}
    FROM feedback_submission s
    JOIN organization o ON o.id = s.organization_id
    LEFT JOIN agent a ON a.id = s.agent_id AND a.organization_id = s.organization_id
    WHERE ${conditions.join(' AND ')} ORDER BY s.id LIMIT ${pageRows}`;
  return { text, values };
}

function toCsvLine(row: ExportRow): string {
  const { id, type, status, organization, vm, title, description, reporter, createdAt, issueUrl, taskUrl } = row;
  return formatCsvLine([
    ...[id, type, status, organization, vm, title, description, reporter, createdAt.toISOString()],
    ...[issueUrl, taskUrl],
  ]);
}
