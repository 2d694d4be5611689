/* eslint-disable muster/one-clock -- Timeline entries are dated by the database clock, which gives the entries of all hosts one order. */
import type { Database, JobEntity, OrganizationEventEntity, TimelineEntryEntity } from '@muster/database';
import type { EventCursor } from './event-cursor';
import { nilId } from '@muster/platform';

/** A timeline entry or an organization event. */
export interface EventRow
  extends
    Pick<OrganizationEventEntity, 'transactionId' | 'at'>,
    Pick<TimelineEntryEntity, 'seq' | 'jobId' | 'data'>,
    Partial<Pick<TimelineEntryEntity, 'agentId' | 'message'>> {
  thing: string;
  type: string;
  workflowId: JobEntity['workflowId'] | null;
}

/** A page of events that follow a cursor, and the cursor at the end of the page. */
export interface EventPage {
  rows: EventRow[];
  next: EventCursor;
  /** Whether there may be more events after this page. */
  isFull: boolean;
}

const pageRows = 200;

/** An organization and the cursor after which its events are read. */
export interface Reading {
  organizationId: string;
  cursor: EventCursor;
}

/**
 * Reads the next page of events for each organization and cursor. One statement reads all pages, so they have the same
 * snapshot.
 */
export async function readEventPages(database: Database, readings: Reading[]): Promise<EventPage[]> {
  const cursors = readings.map(({ cursor }) => cursor);
  const rows = await database.query<EventRow & { n: number; now: number; snapshot: string }>(
    'system',
    statement,
    [
      readings.map((_, n) => n),
      readings.map(({ organizationId }) => organizationId),
      cursors.map(({ snapshot }) => snapshot),
      cursors.map(({ within }) => within?.upto ?? null),
      cursors.map(({ within }) => within?.last.transactionId ?? 0),
      cursors.map(({ within }) => within?.last.thing ?? nilId),
      cursors.map(({ within }) => within?.last.seq ?? 0),
      cursors.map(({ at }) => new Date(at - longestTransactionMs)),
    ],
    'read_organization_events',
  );
  return readings.map(({ cursor }, n) => {
    const own = rows.filter((row) => row.n === n);
    const { now, snapshot } = own[0]!;
    return toEventPage(
      cursor,
      { now, snapshot },
      own.filter(({ type }) => type !== null),
    );
  });
}

function toEventPage(
  cursor: EventCursor,
  { now, snapshot }: { now: number; snapshot: string },
  rows: EventRow[],
): EventPage {
  const upto = cursor.within?.upto ?? snapshot;
  const isFull = rows.length >= pageRows;
  // The page contains all rows that are visible in the snapshot, so the snapshot is the cursor at its end.
  if (!isFull) return { rows, next: { at: cursor.within ? cursor.at : now, snapshot: upto }, isFull: !!cursor.within };
  return { rows, next: buildCursorAfter(cursor, upto, rows.at(-1)!), isFull };
}

/** Returns the cursor of a reader that has got this row of a page but no later row. */
export function buildCursorAfter({ at, snapshot }: EventCursor, upto: string, row: EventRow): EventCursor {
  const { transactionId, thing, seq } = row;
  return { at, snapshot, within: { upto, last: { transactionId, thing, seq } } };
}

/**
 * Maximum assumed duration of a transaction in milliseconds. An entry's time is the start of its transaction, so this
 * margin decides which monthly partitions are read.
 */
const longestTransactionMs = 3_600_000;

const isNewEventRowSql = (row: string, thing: string, seq: string) => `
  ${row}.organization_id = f.organization_id
  AND ${row}.transaction_id >= GREATEST(f.oldest, f.last_transaction)
  AND NOT pg_visible_in_snapshot(${row}.transaction_id::text::xid8, f.snapshot)
  AND (f.upto IS NULL OR (
    pg_visible_in_snapshot(${row}.transaction_id::text::xid8, f.upto)
    AND (${row}.transaction_id, ${thing}, ${seq}) > (f.last_transaction, f.last_thing, f.last_seq)))`;

const statement = `
  WITH f AS MATERIALIZED (
    SELECT n, organization_id, snapshot::pg_snapshot AS snapshot, upto::pg_snapshot AS upto, last_transaction, last_thing, last_seq,
           since, pg_snapshot_xmin(snapshot::pg_snapshot)::text::bigint AS oldest
    FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::bigint[], $8::timestamptz[])
      AS requested (n, organization_id, snapshot, upto, last_transaction, last_thing, last_seq, since))
  SELECT f.n, (extract(epoch FROM now()) * 1000)::bigint AS now, pg_current_snapshot()::text AS snapshot,
         p.transaction_id, p.thing, p.seq, p.type, p.agent_id, p.job_id, p.message, p.data, p.at, j.workflow_id
  FROM f
  LEFT JOIN LATERAL (
    SELECT * FROM (
      (SELECT t.transaction_id, t.agent_id AS thing, t.seq, t.kind AS type, t.agent_id, t.job_id, t.message, t.data, t.at
       FROM timeline_entry t
       WHERE ${isNewEventRowSql('t', 't.agent_id', 't.seq')} AND t.transaction_id IS NOT NULL AND t.recorded_at >= f.since
       ORDER BY t.transaction_id, t.agent_id, t.seq LIMIT ${pageRows})
      UNION ALL
      (SELECT e.transaction_id, e.id, 0, e.type, NULL, NULL, NULL, e.data, e.at
       FROM organization_event e WHERE ${isNewEventRowSql('e', 'e.id', '0')}
       ORDER BY e.transaction_id, e.id LIMIT ${pageRows})) both_kinds
    ORDER BY transaction_id, thing, seq LIMIT ${pageRows}
  ) p ON true
  LEFT JOIN job j ON j.id = p.job_id AND j.organization_id = f.organization_id
  ORDER BY f.n, p.transaction_id, p.thing, p.seq`;
