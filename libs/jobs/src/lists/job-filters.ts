import type { JobFilter } from '@muster/contracts';
import { containsIgnoringCaseSql } from '@muster/database';
import { smallestIdAt, isUuid } from '@muster/platform';
import { failureCauseSql } from './group-failures';

export type JobFilters = Omit<JobFilter, 'limit' | 'cursor' | 'sort'>;

type AddParameter = (value: unknown) => string;

/**
 * Returns the conditions that an index can check in the order of ids: the organization ($1), the times, and the most
 * selective filter.
 */
export function buildIndexedConditions(filter: JobFilters, addParameter: AddParameter): string[] {
  const { from, to, q } = filter;
  const range = ['organization_id = $1'];
  if (from) range.push(`id >= ${addParameter(smallestIdAt(new Date(Date.parse(from) - maxDriftMs)))}`);
  if (to) range.push(`id < ${addParameter(smallestIdAt(new Date(Date.parse(to) + maxDriftMs)))}`);
  // If the search text is a complete id, only the ids of runs are searched.
  if (q && isUuid(q)) range.push(`id = ${addParameter(q)}`);
  const [first] = listTimeRanges(filter);
  if (!first) return range;
  const value = addParameter(first.read(filter));
  range.push(`${first.column} = ${value}`);
  // If the filter names another organization's batch, agent or workflow, the list is empty and no row is scanned.
  if (first.owner) range.push(`EXISTS (SELECT FROM ${first.owner} o WHERE o.id = ${value} AND o.organization_id = $1)`);
  return range;
}

/** Returns the conditions that are checked on each row within the range of `buildIndexedConditions`. */
export function buildRowConditions(filter: JobFilters, addParameter: AddParameter): string[] {
  return [
    ...buildTimeAndTextConditions(filter, addParameter),
    ...buildEqualityConditions(filter, listTimeRanges(filter).slice(1), addParameter),
  ];
}

/** Returns all conditions as checks of each row, for lists that are not in the order of ids. */
export function buildAllConditions(filter: JobFilters, addParameter: AddParameter): string[] {
  return [
    ...buildTimeAndTextConditions(filter, addParameter),
    ...buildEqualityConditions(filter, listTimeRanges(filter), addParameter),
  ];
}

/** Returns the conditions on the time at which a run ended. A run that has not ended meets none of them. */
export function buildEndTimeConditions({ endedFrom, endedTo }: JobFilters, addParameter: AddParameter): string[] {
  return [
    ...(endedFrom ? [`finished_at >= ${addParameter(endedFrom)}`] : []),
    ...(endedTo ? [`finished_at < ${addParameter(endedTo)}`] : []),
  ];
}

function buildTimeAndTextConditions(filter: JobFilters, addParameter: AddParameter): string[] {
  const { from, to, q, error, variable, cause, target } = filter;
  return [
    ...(from ? [`queued_at >= ${addParameter(from)}`] : []),
    ...(to ? [`queued_at < ${addParameter(to)}`] : []),
    ...buildEndTimeConditions(filter, addParameter),
    ...(q ? [isUuid(q) ? `id = ${addParameter(q)}` : jobContainsTextSql(addParameter(q))] : []),
    ...(error ? [containsIgnoringCaseSql('error', addParameter(error))] : []),
    ...(variable ? [variableContainsTextSql(variable, addParameter)] : []),
    ...(target ? [`${addParameter(target)} = ANY(target_labels)`] : []),
    ...(cause ? [`${failureCauseSql('error', 'error_code')} = ${addParameter(cause)}`] : []),
  ];
}

function buildEqualityConditions(filter: JobFilters, columns: Range[], addParameter: AddParameter): string[] {
  return columns.map(({ column, read }) => `${column} = ${addParameter(read(filter))}`);
}

function listTimeRanges(filter: JobFilters): Range[] {
  return ranges.filter((each) => each.read(filter) !== undefined);
}

/**
 * Returns the condition for a search by variable. `NAME=text` matches if the value of this variable contains the text;
 * other input matches if the value of any variable contains it.
 */
function variableContainsTextSql(input: string, addParameter: AddParameter): string {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(input) ?? [];
  if (name === undefined) return anyVariableContainsTextSql(addParameter(input));
  // A sealed value is an object, whose text must not be searched.
  const key = addParameter(name);
  const contains = containsIgnoringCaseSql(`variables ->> ${key}`, addParameter(value));
  return `jsonb_typeof(variables -> ${key}) = 'string' AND ${contains}`;
}

function anyVariableContainsTextSql(text: string): string {
  const contains = containsIgnoringCaseSql('v.value', text);
  return `EXISTS (SELECT FROM jsonb_each_text(variables) v
    WHERE jsonb_typeof(variables -> v.key) = 'string' AND ${contains})`;
}

/** SQL: the text is part of the run's id, its error, the value of one of its variables, or the name of its workflow. */
function jobContainsTextSql(q: string): string {
  return `(strpos(id::text, lower(${q})) > 0 OR ${containsIgnoringCaseSql('error', q)} OR ${anyVariableContainsTextSql(q)} OR workflow_id IN (
    SELECT w.id FROM workflow w WHERE w.organization_id = $1 AND ${containsIgnoringCaseSql('w.name', q)}))`;
}

/** Returns the requested status. A filter by cause implies the status failed, because only failed runs have a cause. */
function getFilterStatus({ status, cause }: JobFilters): string | undefined {
  return status ?? (cause === undefined ? undefined : 'failed');
}

interface Range {
  column: string;
  read: (filter: JobFilters) => string | undefined;
  owner?: string;
}

/**
 * Maximum milliseconds between a run's time and the time in its id. The two come from different clocks, and inserting a
 * batch takes time.
 */
const maxDriftMs = 10 * 60_000;

/**
 * Columns that have an index in the order of ids, the most selective first. There is no index for completed runs
 * because there are too many.
 */
const ranges: Range[] = [
  { column: 'batch_id', read: ({ batchId }) => batchId, owner: 'batch' },
  { column: 'schedule_id', read: ({ scheduleId }) => scheduleId },
  { column: 'agent_id', read: ({ agentId }) => agentId, owner: 'agent' },
  {
    column: 'status',
    read: (filter) => (getFilterStatus(filter) === 'completed' ? undefined : getFilterStatus(filter)),
  },
  { column: 'workflow_id', read: ({ workflowId }) => workflowId, owner: 'workflow' },
  { column: 'status', read: (filter) => (getFilterStatus(filter) === 'completed' ? 'completed' : undefined) },
];
