import { AppError, type AgentLogsQuery } from '@muster/contracts';
import { type Database, pageWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import type { EntryKind } from './append-timeline';
import type { TimelineRow } from './timeline-event';

/** An agent's timeline, newest first unless asked otherwise; one row more than the page has, where there is one. */
export async function listTimeline(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  query: AgentLogsQuery,
  page: Page,
): Promise<TimelineRow[]> {
  const rows = await select(database, organizationId, page, { ...query, order: query.order ?? 'desc', agentId });
  if (rows.length === 0) await requireAgent(database, organizationId, agentId);
  return rows;
}

/** What a job wrote, in order. */
export function readJobLogs(
  database: Database,
  organizationId: string,
  jobId: string,
  page: Page,
  filters: Pick<AgentLogsQuery, 'level' | 'q' | 'from' | 'to'> = {},
): Promise<TimelineRow[]> {
  return select(database, organizationId, page, { ...filters, jobId, kind: 'execution', order: 'asc' });
}

interface Filters extends Pick<AgentLogsQuery, 'level' | 'jobId' | 'q' | 'from' | 'to'> {
  agentId?: string;
  kind?: EntryKind;
  order: 'asc' | 'desc';
}

function select(database: Database, organizationId: string, page: Page, filters: Filters): Promise<TimelineRow[]> {
  const { agentId, kind, level, jobId, q, from, to, order } = filters;
  const values: unknown[] = [];
  const conditions: string[] = [];
  const where = (condition: (value: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((value) => `organization_id = ${value}`, organizationId);
  where((value) => `agent_id = ${value}`, agentId);
  where((value) => `job_id = ${value}`, jobId);
  where((value) => `kind = ${value}`, kind);
  where((value) => `level = ${value}`, level);
  where((value) => `message ILIKE ${value}`, q === undefined ? undefined : `%${q.replaceAll(/[\\%_]/g, '\\$&')}%`);
  where((value) => `at >= ${value}`, from === undefined ? undefined : new Date(from));
  where((value) => `at <= ${value}`, to === undefined ? undefined : new Date(to));
  where((value) => `seq ${order === 'asc' ? '>' : '<'} ${value}`, page.after?.[0]);
  values.push(page.limit + 1);
  return database.query<TimelineRow>(
    { organizationId },
    pageWithin(
      `SELECT seq, kind, level, message, source, job_id, data, at FROM timeline_entry
       WHERE ${conditions.join(' AND ')} ORDER BY seq ${order} LIMIT $${values.length}`,
      { order: `seq ${order}`, bytes: 'octet_length(message) + COALESCE(octet_length(data::text), 0)' },
    ),
    values,
  );
}

async function requireAgent(database: Database, organizationId: string, agentId: string): Promise<void> {
  const [found] = await database.query(
    { organizationId },
    'SELECT FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
    'agent_exists',
  );
  if (!found) throw new AppError('agent_not_found', { detail: 'There is no such agent.' });
}
