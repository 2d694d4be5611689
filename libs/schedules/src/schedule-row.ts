import { notFoundError, type ScheduleQuery, type ScheduleSort } from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  foldCaseSql,
  orderedListSql,
  parseListOrder,
  limitPageSizeSql,
  type ScheduleEntity,
  type ScheduleRunEntity,
  type Transaction,
} from '@muster/database';
import type { Page } from '@muster/platform';

export interface ScheduleRow extends Pick<
  ScheduleEntity,
  | 'id'
  | 'organizationId'
  | 'name'
  | 'agentId'
  | 'targetLabels'
  | 'targetPrefer'
  | 'cronExpression'
  | 'timezone'
  | 'enabled'
  | 'variables'
  | 'vaultKeys'
  | 'maxRuntimeMinutes'
  | 'maxRetries'
  | 'retryDelaySeconds'
  | 'concurrencyKeys'
  | 'accounts'
  | 'concurrencyLimit'
  | 'idempotencyWindowMinutes'
  | 'misfirePolicy'
  | 'maxCostMicros'
  | 'workflowPackInstallationId'
  | 'nextRunAt'
  | 'lastRunAt'
  | 'lastRunJobId'
  | 'lastResult'
  | 'version'
  | 'createdAt'
  | 'updatedAt'
> {
  scriptId: ScheduleEntity['workflowId'];
}

export type ScheduleRunRow = Pick<
  ScheduleRunEntity,
  'nominalAt' | 'firedAt' | 'kind' | 'outcome' | 'reason' | 'detail' | 'jobId'
>;

const select = `
  SELECT s.id, s.organization_id, s.name, s.workflow_id AS script_id, s.agent_id, s.target_labels,
         s.target_prefer, s.cron_expression, s.timezone,
         s.enabled, s.variables, s.vault_keys, s.max_runtime_minutes, s.max_retries, s.retry_delay_seconds,
         s.concurrency_limit, s.idempotency_window_minutes, s.misfire_policy, s.max_cost_micros, s.workflow_pack_installation_id,
         s.concurrency_keys, s.accounts, s.next_run_at,
         s.last_run_at, s.last_run_job_id, s.last_result, s.version, s.created_at, s.updated_at
  FROM schedule s`;

const values = {
  name: { value: foldCaseSql('name'), type: 'text' },
  nextRunAt: { value: 'next_run_at', type: 'timestamptz' },
  lastRunAt: { value: 'last_run_at', type: 'timestamptz' },
} as const;

export const parseScheduleOrder = (sort?: ScheduleSort) => parseListOrder(sort, values);

export function listSchedules(
  database: Database,
  organizationId: string,
  { page, filter }: { page: Page; filter: Pick<ScheduleQuery, 'agentId' | 'scriptId' | 'enabled' | 'q' | 'sort'> },
): Promise<(ScheduleRow & { sortValue: string | null })[]> {
  const parameters: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${parameters.push(value)}`;
  // The most selective filter selects a range of an index, and the other filters are checked on the rows in this range.
  const [first, ...looked] = [
    filter.agentId && `agent_id = ${addParameter(filter.agentId)}`,
    filter.scriptId && `workflow_id = ${addParameter(filter.scriptId)}`,
  ].filter((condition) => condition !== undefined);
  if (filter.enabled) looked.push(filter.enabled === 'true' ? 'enabled' : 'NOT enabled');
  if (filter.q) looked.push(containsIgnoringCaseSql('name', addParameter(filter.q)));
  const within = ['organization_id = $1', ...(first ? [first] : [])];
  const list = { from: 'schedule', within, looked, page, addParameter };
  const { listed, order, sortValue } = orderedListSql(parseScheduleOrder(filter.sort), list);
  return database.query<ScheduleRow & { sortValue: string | null }>(
    { organizationId },
    limitPageSizeSql(
      `SELECT s.*, p.matches, p.scan_end, ${sortValue} AS sort_value, row_number() OVER (ORDER BY ${order}) AS sort_place
       FROM (${listed}) p JOIN (${select}) s ON s.id = p.id ORDER BY ${order}`,
      { order: 'sort_place', bytes: 'octet_length(variables::text)' },
    ),
    parameters,
  );
}

export async function findSchedule(database: Database, organizationId: string, id: string): Promise<ScheduleRow> {
  const [row] = await database.query<ScheduleRow>(
    { organizationId },
    `${select} WHERE s.id = $1 AND s.organization_id = $2`,
    [id, organizationId],
    'find_schedule',
  );
  if (!row) throw notFoundError('schedule');
  return row;
}

/** Returns the outcomes of the newest scheduled times. */
export function listRecentRunsOfSchedule(
  database: Database,
  organizationId: string,
  id: string,
): Promise<ScheduleRunRow[]> {
  return database.query<ScheduleRunRow>(
    { organizationId },
    `SELECT nominal_at, fired_at, kind, outcome, reason, detail, job_id
     FROM schedule_run WHERE schedule_id = $1 AND organization_id = $2
     ORDER BY nominal_at DESC, kind LIMIT 50`,
    [id, organizationId],
    'recent_schedule_runs',
  );
}

export async function lockSchedule(tx: Transaction, organizationId: string, id: string): Promise<ScheduleRow> {
  const [row] = await tx.query<ScheduleRow>(
    `${select} WHERE s.id = $1 AND s.organization_id = $2 FOR UPDATE OF s`,
    [id, organizationId],
    'lock_schedule',
  );
  if (!row) throw notFoundError('schedule');
  return row;
}

/** Locks a schedule without waiting. Returns undefined if another transaction has locked it or it does not exist. */
export async function tryLockSchedule(
  tx: Transaction,
  organizationId: string,
  id: string,
): Promise<ScheduleRow | undefined> {
  const [row] = await tx.query<ScheduleRow>(
    `${select} WHERE s.id = $1 AND s.organization_id = $2 FOR UPDATE OF s SKIP LOCKED`,
    [id, organizationId],
    'try_lock_schedule',
  );
  return row;
}

/** Throws not_found if a schedule that could not be locked does not exist. */
export async function requireExistingSchedule(tx: Transaction, organizationId: string, id: string): Promise<void> {
  const rows = await tx.query('SELECT FROM schedule WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  if (rows.length === 0) throw notFoundError('schedule');
}
