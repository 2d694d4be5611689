import type { JobFilter } from '@muster/contracts';
import { hasPart } from '@muster/database';
import { firstIdAt, isUuid } from '@muster/platform';
import { causeSql } from './group-failures';

export type JobFilters = Omit<JobFilter, 'limit' | 'cursor' | 'sort'>;

type Placed = (value: unknown) => string;

/** What an index answers in the order of ids: $1, the organization, and of what is asked for the narrowest. */
export function rangeOf(filter: JobFilters, placed: Placed): string[] {
  const { from, to, q } = filter;
  const range = ['organization_id = $1'];
  if (from) range.push(`id >= ${placed(firstIdAt(new Date(Date.parse(from) - apartMs)))}`);
  if (to) range.push(`id < ${placed(firstIdAt(new Date(Date.parse(to) + apartMs)))}`);
  // A whole id is nobody's error: it is the run's.
  if (q && isUuid(q)) range.push(`id = ${placed(q)}`);
  const [first] = rangesOf(filter);
  if (!first) return range;
  const value = placed(first.of(filter));
  range.push(`${first.column} = ${value}`);
  // What is another organization's is not searched for rows of ours.
  if (first.owner) range.push(`EXISTS (SELECT FROM ${first.owner} o WHERE o.id = ${value} AND o.organization_id = $1)`);
  return range;
}

/** What is looked at in that range, row by row. */
export function lookedOf(filter: JobFilters, placed: Placed): string[] {
  return [...timeAndText(filter, placed), ...equal(filter, rangesOf(filter).slice(1), placed)];
}

/** All that is asked for, row by row: in an order that is not that of ids. */
export function allOf(filter: JobFilters, placed: Placed): string[] {
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
  return columns.map(({ column, of }) => `${column} = ${placed(of(filter))}`);
}

function rangesOf(filter: JobFilters): Range[] {
  return ranges.filter((each) => each.of(filter) !== undefined);
}

/** With the name of a variable before it, its value has that part; else the value of any. */
function hasVariable(asked: string, placed: Placed): string {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(asked) ?? [];
  if (name === undefined) return anyVariable(placed(asked));
  return `variables ? ${placed(name)} AND ${hasPart(`variables ->> ${placed(name)}`, placed(value))}`;
}

function anyVariable(asked: string): string {
  return `EXISTS (SELECT FROM jsonb_each_text(variables) v WHERE ${hasPart('v.value', asked)})`;
}

/** Part of its id, of its error, of a variable's value, or of its workflow's name. */
function contains(q: string): string {
  return `(strpos(id::text, lower(${q})) > 0 OR ${hasPart('error', q)} OR ${anyVariable(q)} OR workflow_id IN (
    SELECT w.id FROM workflow w WHERE w.organization_id = $1 AND ${hasPart('w.name', q)}))`;
}

/** Only what failed has a cause. */
function statusOf({ status, cause }: JobFilters): string | undefined {
  return status ?? (cause === undefined ? undefined : 'failed');
}

interface Range {
  column: string;
  of: (filter: JobFilters) => string | undefined;
  owner?: string;
}

/** So far a run's time may be from that of its id: they are two clocks, and a batch takes a while. */
const apartMs = 10 * 60_000;

/** What an index has in the order of ids, the narrowest first. Of the completed there are too many for one. */
const ranges: Range[] = [
  { column: 'batch_id', of: ({ batchId }) => batchId, owner: 'batch' },
  { column: 'schedule_id', of: ({ scheduleId }) => scheduleId },
  { column: 'agent_id', of: ({ agentId }) => agentId, owner: 'agent' },
  { column: 'status', of: (filter) => (statusOf(filter) === 'completed' ? undefined : statusOf(filter)) },
  { column: 'workflow_id', of: ({ workflowId }) => workflowId, owner: 'workflow' },
  { column: 'status', of: (filter) => (statusOf(filter) === 'completed' ? 'completed' : undefined) },
];
