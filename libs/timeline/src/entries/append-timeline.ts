import type { Principal } from '@muster/access';
import { currentTransaction, type RowStatement, type Transaction } from '@muster/database';

export type EntryKind = 'lifecycle' | 'provisioning' | 'execution' | 'status' | 'job';
export type EntryLevel = 'debug' | 'info' | 'warn' | 'error';

export interface TimelineEntry {
  kind: EntryKind;
  message: string;
  level?: EntryLevel;
  source?: string;
  jobId?: string;
  data?: Record<string, unknown>;
  /** Time at which the event of the entry happened; by default now. */
  at?: Date;
}

export interface TimelineRef {
  organizationId: string;
  agentId: string;
}

export interface AgentEntry extends TimelineRef {
  entry: TimelineEntry;
}

/**
 * Appends entries to an agent's timeline, in their order. The agent's row in timeline_head stays locked until the
 * commit, so a reader that sees an entry can also see every entry with a smaller number.
 */
export function appendTimeline(tx: Transaction, agentRef: TimelineRef, entries: TimelineEntry[]): void {
  appendTimelines(
    tx,
    entries.map((entry) => ({ ...agentRef, entry })),
  );
}

/**
 * Appends entries to the timelines of several agents with one statement. It locks the timelines in the order of the
 * agents' ids, so that two transactions cannot deadlock. The entries of one agent keep their order.
 */
export function appendTimelines(tx: Transaction, entries: AgentEntry[]): void {
  tx.deferRows(
    entryRows,
    entries.map(({ agentId, organizationId, entry }) => [agentId, organizationId, ...getEntryColumns(entry)]),
  );
  for (const agentId of new Set(entries.map((each) => each.agentId))) tx.notify('timeline', agentId);
  const ofOrganizations = entries.filter(({ entry }) => isOrganizationEvent(entry.kind));
  for (const id of new Set(ofOrganizations.map(({ organizationId }) => organizationId))) tx.notify('organization', id);
}

/** Kinds of entries that the organization's stream contains: all except the output of runs and of machine setups. */
const organizationKinds: readonly EntryKind[] = ['job', 'status', 'lifecycle'];
const isOrganizationEvent = (kind: EntryKind) => organizationKinds.includes(kind);
const streamTransactionIdSql = (kind: string) =>
  `CASE WHEN ${kind} IN ('${organizationKinds.join("', '")}') THEN ${currentTransaction} END`;

const entryColumns = 'agent_id, seq, organization_id, kind, level, message, source, job_id, data, at, transaction_id';

/**
 * Inserts one entry for each row. Most calls append one entry: the plan of that statement does not depend on the number
 * of entries, so Postgres caches the plan.
 */
const entryRows: RowStatement = {
  one: {
    name: 'append_entry',
    text: `WITH head AS (${nextEntryNumberSql('$1', '$2')})
      INSERT INTO timeline_entry (${entryColumns})
      SELECT $1, head.last_seq, $2, $3, $4, $5, $6, $7, $8, COALESCE($9::timestamptz, muster_now()), ${streamTransactionIdSql('$3::text')}
      FROM head`,
  },
  many: {
    name: 'append_entries',
    text: `WITH entry AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::jsonb[],
          $9::timestamptz[]) WITH ORDINALITY
          AS e (agent_id, organization_id, kind, level, message, source, job_id, data, at, position)),
      head AS (
        INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
        SELECT agent_id, organization_id, count(*) FROM entry GROUP BY agent_id, organization_id ORDER BY agent_id
        ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq RETURNING agent_id, last_seq)
      INSERT INTO timeline_entry (${entryColumns})
      SELECT e.agent_id, head.last_seq - count(*) OVER agent + row_number() OVER (agent ORDER BY e.position),
             e.organization_id, e.kind, e.level, e.message, e.source, e.job_id, e.data, COALESCE(e.at, muster_now()),
             ${streamTransactionIdSql('e.kind')}
      FROM entry e JOIN head ON head.agent_id = e.agent_id
      WINDOW agent AS (PARTITION BY e.agent_id)`,
  },
};

function getEntryColumns({ kind, level, message, source, jobId, data, at }: TimelineEntry): unknown[] {
  return [
    kind,
    level ?? 'info',
    message,
    source ?? null,
    jobId ?? null,
    data ? JSON.stringify(data) : null,
    at ?? null,
  ];
}

/** SQL that reserves the next number of the agent's timeline. */
function nextEntryNumberSql(agentId: string, organizationId: string): string {
  return `INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
       VALUES (${agentId}, ${organizationId}, 1)
       ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + 1 RETURNING last_seq`;
}

/**
 * Returns the CTEs `head` and `insert_entry` for a statement that changes jobs. They append one entry for each row of
 * the CTE `changes` (agent_id, organization_id, job_id, entry). `entry` is the result of `encodeEntryParameter`. The
 * CTE has at most one row for each agent.
 */
export function appendEntriesSql(changes: string): string {
  const entryFieldSql = (name: string) => `${changes}.entry->>'${name}'`;
  return `head AS (
    INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
    SELECT agent_id, organization_id, 1 FROM ${changes} ORDER BY agent_id
    ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + 1
    RETURNING agent_id, last_seq),
  insert_entry AS (
    INSERT INTO timeline_entry
      (agent_id, seq, organization_id, kind, level, message, source, job_id, data, at, transaction_id)
    SELECT head.agent_id, head.last_seq, ${changes}.organization_id, ${entryFieldSql('kind')}, ${entryFieldSql('level')},
           ${entryFieldSql('message')}, ${entryFieldSql('source')}, ${changes}.job_id, ${changes}.entry->'data', muster_now(),
           ${currentTransaction}
    FROM head JOIN ${changes} ON ${changes}.agent_id = head.agent_id)`;
}

export function encodeEntryParameter({ kind, level = 'info', message, source, data }: TimelineEntry): string {
  return JSON.stringify({ kind, level, message, source, data });
}

/**
 * Returns the CTEs `head` and `insert_entries` for the statement that stores a job's log. They append the rows of the
 * CTE `lines` (agent_id, place, level, message, seq, at) to the timeline of the one agent in the CTE `agent`. `place`
 * is the position of a row among the rows, from 1 on. The CTE `count` contains the number of rows.
 */
export function appendLinesSql(
  names: Record<'lines' | 'agent' | 'count' | 'jobId' | 'organizationId', string>,
): string {
  const { lines, agent, count, jobId, organizationId } = names;
  return `head AS (
    INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq)
    SELECT ${agent}.agent_id, ${organizationId}, ${count}.count FROM ${agent}, ${count} WHERE ${count}.count > 0
    ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq
    RETURNING last_seq),
  insert_entries AS (
    INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message, source, job_id, log_seq, at)
    SELECT ${lines}.agent_id, head.last_seq - ${count}.count + ${lines}.place, ${organizationId}, 'execution',
           ${lines}.level, ${lines}.message, 'worker', ${jobId}, ${lines}.seq, to_timestamp(${lines}.at)
    FROM ${lines}, head, ${count})`;
}

/** Deletes the timeline entries that a deleted job wrote. Entries about the machine of its agent stay. */
export async function deleteTimelineOfJob(tx: Transaction, caller: Principal, jobId: string): Promise<void> {
  await tx.execute(
    `DELETE FROM timeline_entry WHERE job_id = $1 AND organization_id = $2 AND kind IN ('job', 'execution')`,
    [jobId, caller.organizationId],
  );
}
