import { AppError, type AgentLogsQuery } from '@muster/contracts';
import { type Database, pageWithin, scanWithin } from '@muster/database';
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
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  const looked: string[] = [];
  if (page.after) within.push(`seq ${order === 'asc' ? '>' : '<'} ${placed(page.after[0])}`);
  if (jobId) within.push(`job_id = ${placed(jobId)}`);
  if (agentId) {
    const agent = placed(agentId);
    (jobId ? looked : within).push(`agent_id = ${agent}`);
    // What is another organization's is not searched for entries of ours.
    within.push(`EXISTS (SELECT FROM agent a WHERE a.id = ${agent} AND a.organization_id = $1)`);
  }
  if (kind) looked.push(`kind = ${placed(kind)}`);
  if (level) looked.push(`level = ${placed(level)}`);
  if (q) looked.push(`message ILIKE ${placed(`%${q.replaceAll(/[\\%_]/g, '\\$&')}%`)}`);
  if (from) looked.push(`at >= ${placed(from)}`);
  if (to) looked.push(`at <= ${placed(to)}`);
  const isOfAgent = agentId !== undefined && jobId === undefined;
  const listed = scanWithin({
    from: (from || to) && isOfAgent ? ofPeriod(within, { from, to }, placed) : 'timeline_entry',
    columns: 'seq, kind, level, message, source, job_id, data, at',
    within: (from || to) && isOfAgent ? ['true'] : within,
    filter: looked,
    order: `seq ${order}`,
    limit: placed(page.limit + 1),
  });
  return database.query<TimelineRow>(
    { organizationId },
    pageWithin(listed, {
      order: `seq ${order}`,
      bytes: 'octet_length(message) + COALESCE(octet_length(data::text), 0)',
    }),
    values,
  );
}

/**
 * What may have happened in a period: of the entries that were written down when they happened those of its months
 * alone, and all of the few that came late or from a clock that is wrong, which have an index of their own.
 */
function ofPeriod(
  within: string[],
  { from, to }: Pick<Filters, 'from' | 'to'>,
  placed: (value: unknown) => string,
): string {
  const inTime = [`recorded_at - at BETWEEN ${hourAhead} AND ${hourBehind}`];
  if (from) inTime.push(`recorded_at >= ${placed(new Date(Date.parse(from) - hourMs))}`);
  if (to) inTime.push(`recorded_at <= ${placed(new Date(Date.parse(to) + hourMs))}`);
  const select = 'SELECT seq, kind, level, message, source, job_id, data, at FROM timeline_entry WHERE';
  return `(${select} ${[...within, ...inTime].join(' AND ')}
    UNION ALL ${select} ${within.join(' AND ')}
      AND recorded_at - at NOT BETWEEN ${hourAhead} AND ${hourBehind}) entry`;
}

const hourMs = 3_600_000;
/** As the index timeline_entry_other_time_idx has it. */
const hourAhead = `'-1 hour'::interval`;
const hourBehind = `'1 hour'::interval`;

async function requireAgent(database: Database, organizationId: string, agentId: string): Promise<void> {
  const [found] = await database.query(
    { organizationId },
    'SELECT FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
    'agent_exists',
  );
  if (!found) throw new AppError('agent_not_found', { detail: 'There is no such agent.' });
}
