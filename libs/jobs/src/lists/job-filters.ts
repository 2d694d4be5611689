import type { JobFilter } from '@muster/contracts';
import { hasPart } from '@muster/database';
import { firstIdAt, isUuid } from '@muster/platform';
import { causeSql } from './group-failures';

export type JobFilters = Omit<JobFilter, 'limit' | 'cursor' | 'sort'>;

type Placed = (value: unknown) => string;

/** Conditions that an index answers in the order of ids: the organization ($1), the times, and the narrowest filter. */
export function rangeOf(filter: JobFilters, placed: Placed): string[] {
  const { from, to, q } = filter;
  const range = ['organization_id = $1'];
  if (from) range.push(`id >= ${placed(firstIdAt(new Date(Date.parse(from) - maxDriftMs)))}`);
  if (to) range.push(`id < ${placed(firstIdAt(new Date(Date.parse(to) + maxDriftMs)))}`);
  // A complete id is searched only as the id of a run.
  if (q && isUuid(q)) range.push(`id = ${placed(q)}`);
  const [first] = rangesOf(filter);
  if (!first) return range;
  const value = placed(first.read(filter));
  range.push(`${first.column} = ${value}`);
  // If the owner belongs to another organization, no rows of this organization are read.
  if (first.owner) range.push(`EXISTS (SELECT FROM ${first.owner} o WHERE o.id = ${value} AND o.organization_id = $1)`);
  return range;
}

/** Conditions that are checked row by row within that range. */
export function rowConditions(filter: JobFilters, placed: Placed): string[] {
  return [...timeAndText(filter, placed), ...equal(filter, rangesOf(filter).slice(1), placed)];
}

/** All conditions, checked row by row, for an order that is not the order of ids. */
export function allConditions(filter: JobFilters, placed: Placed): string[] {
  return [...timeAndText(filter, placed), ...equal(filter, rangesOf(filter), placed)];
}

function timeAndText({ from, to, q, error, variable, cause }: JobFilters, placed: Placed): string[] {
  return [
    ...(from ? [`queued_at >= ${placed(from)}`] : []),
    ...(to ? [`queued_at < ${placed(to)}`] : []),
    ...(q ? [isUuid(q) ? `id = ${placed(q)}` : contains(placed(q))] : []),
    ...(error ? [hasPart('error', placed(error))] : []),
    ...(variable ? [hasVariable(variable, placed)] : []),
    ...(cause ? [`${causeSql('error', 'error_code')} = ${placed(cause)}`] : []),
  ];
}

function equal(filter: JobFilters, columns: Range[], placed: Placed): string[] {
  return columns.map(({ column, read }) => `${column} = ${placed(read(filter))}`);
}

function rangesOf(filter: JobFilters): Range[] {
  return ranges.filter((each) => each.read(filter) !== undefined);
}

/**
 * `NAME=text` matches a variable with this name whose value contains the text; other input matches the value of any
 * variable.
 */
function hasVariable(input: string, placed: Placed): string {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(input) ?? [];
  if (name === undefined) return anyVariable(placed(input));
  return `variables ? ${placed(name)} AND ${hasPart(`variables ->> ${placed(name)}`, placed(value))}`;
}

function anyVariable(text: string): string {
  return `EXISTS (SELECT FROM jsonb_each_text(variables) v WHERE ${hasPart('v.value', text)})`;
}

/** Matches part of the id, of the error, of the value of a variable, or of the name of the workflow. */
function contains(q: string): string {
  return `(strpos(id::text, lower(${q})) > 0 OR ${hasPart('error', q)} OR ${anyVariable(q)} OR workflow_id IN (
    SELECT w.id FROM workflow w WHERE w.organization_id = $1 AND ${hasPart('w.name', q)}))`;
}

/** Returns the requested status. Only failed runs have a cause. */
function statusOf({ status, cause }: JobFilters): string | undefined {
  return status ?? (cause === undefined ? undefined : 'failed');
}

interface Range {
  column: string;
  read: (filter: JobFilters) => string | undefined;
  owner?: string;
}

/**
 * Maximum difference between a run's time and the time in its id: they come from two clocks, and inserting a batch
 * takes time.
 */
const maxDriftMs = 10 * 60_000;

/** Columns with an index in the order of ids, the narrowest first. There are too many completed runs for an index. */
const ranges: Range[] = [
  { column: 'batch_id', read: ({ batchId }) => batchId, owner: 'batch' },
  { column: 'schedule_id', read: ({ scheduleId }) => scheduleId },
  { column: 'agent_id', read: ({ agentId }) => agentId, owner: 'agent' },
  { column: 'status', read: (filter) => (statusOf(filter) === 'completed' ? undefined : statusOf(filter)) },
  { column: 'workflow_id', read: ({ workflowId }) => workflowId, owner: 'workflow' },
  { column: 'status', read: (filter) => (statusOf(filter) === 'completed' ? 'completed' : undefined) },
];
