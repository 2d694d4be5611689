import { createHash, type Hash } from 'node:crypto';
import type { Database, Scope } from '@muster/database';
import { type ChainedRow, currentForm, type LogName, formatRowAsJson } from './presented-rows';

export const dayMs = 86_400_000;
/** First day of every chain. `noHash` replaces the hash of the day before it, which does not exist. */
export const firstDay = '2020-01-01';
const noHash = '0'.repeat(64);

export const tableOf = { audit: 'audit_entry', access: 'access_entry' } as const;
const columnsOf = {
  audit: 'id, at, actor_kind, actor_id, actor_email, action, target_type, target_id, changes, request_id, digest',
  access: 'id, at, actor_kind, actor_id, actor_email, address, route, subject_type, subject_id, digest',
} as const;

/** Returns the day (UTC) of a time, as YYYY-MM-DD. */
export function formatUtcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}

export function getStartOfUtcDay(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

export function addDays(day: string, count = 1): string {
  return formatUtcDay(new Date(getStartOfUtcDay(day).getTime() + count * dayMs));
}

/** Starts the hash of a day with the hash of the day before it. */
function startDayHash(previous: string): Hash {
  return createHash('sha256').update(`${previous}\n`);
}

/** Returns the hash of a day without rows. */
function hashDayWithoutRows(previous: string): string {
  return startDayHash(previous).digest('hex');
}

/** The last stored day and its hash, or null if no day is stored yet. */
export type DayHash = { day: string; hash: string } | null;

/** Returns the hash of the day before `day`. All days between `last` and `day` have no rows. */
export function computeHashBeforeDay(day: string, last: DayHash): string {
  let hash = last?.hash ?? noHash;
  for (let quiet = last ? addDays(last.day) : firstDay; quiet < day; quiet = addDays(quiet))
    hash = hashDayWithoutRows(hash);
  return hash;
}

export interface RowRange {
  organizationId: string;
  rows: number;
  firstId: string;
  lastId: string;
}

/** Returns, for each organization with rows on the day, their number and the range of their ids. */
export function readRowRanges(
  database: Database,
  scope: Scope,
  { log, day, organizationId }: { log: LogName; day: string; organizationId?: string },
): Promise<RowRange[]> {
  return database.query<RowRange>(
    scope,
    `SELECT organization_id, count(*)::int AS rows, min(id::text) AS first_id, max(id::text) AS last_id
     FROM ${tableOf[log]}
     WHERE at >= $1 AND at < $2 AND ($3::uuid IS NULL OR organization_id = $3) GROUP BY organization_id`,
    [getStartOfUtcDay(day), getStartOfUtcDay(addDays(day)), organizationId ?? null],
  );
}

const pageRows = 1000;

/** Yields the rows of an organization's day in the order of their ids. */
export async function* streamRowsOfDay(
  database: Database,
  scope: Scope,
  { log, day, range }: { log: LogName; day: string; range: RowRange },
): AsyncGenerator<ChainedRow> {
  for (let after: string | null = null; ;) {
    const page: ChainedRow[] = await database.query<ChainedRow>(
      scope,
      `SELECT ${columnsOf[log]} FROM ${tableOf[log]}
       WHERE organization_id = $1 AND at >= $2 AND at < $3 AND id >= $4 AND id <= $5 AND ($6::uuid IS NULL OR id > $6)
       ORDER BY id LIMIT ${pageRows}`,
      [range.organizationId, getStartOfUtcDay(day), getStartOfUtcDay(addDays(day)), range.firstId, range.lastId, after],
    );
    yield* page;
    if (page.length < pageRows) return;
    after = page.at(-1)!.id;
  }
}

export interface HashedDay {
  rows: number;
  previous: string;
  hash: string;
}

/** Returns the hash over all rows of an organization's day. Calls `look` with each row. */
export async function hashRowsOfDay(
  database: Database,
  scope: Scope,
  hashed: { log: LogName; day: string; range: RowRange | undefined; previous: string; form?: number },
  look: (row: ChainedRow) => void = () => undefined,
): Promise<HashedDay> {
  const { log, day, range, previous, form = currentForm } = hashed;
  const hash = startDayHash(previous);
  let rows = 0;
  if (range) {
    for await (const row of streamRowsOfDay(database, scope, { log, day, range })) {
      hash.update(`${formatRowAsJson(log, row, form)}\n`);
      look(row);
      rows += 1;
    }
  }
  return { rows, previous, hash: hash.digest('hex') };
}
