import type { Database } from '@muster/database';
import { type ChainPosition, readChainPosition } from './chain-position';
import { checkRowsOfOpenDay } from './check-open-day';
import {
  type DayHash,
  formatUtcDay,
  computeHashBeforeDay,
  hashRowsOfDay,
  readRowRanges,
  streamRowsOfDay,
  getStartOfUtcDay,
  tableOf,
} from './days';
import { type LogName, logs, logTitles } from './presented-rows';

export interface Verification {
  closedDays: number;
  rows: number;
  /** Changed, missing and added rows, as sentences that begin with the day. */
  faults: string[];
}

interface StoredDay {
  day: string;
  rowCount: number;
  form: number;
  previous: string;
  hash: string;
  faults: string[];
}

/**
 * Compares all rows of an organization's audit trail and access log with their hashes: closed days with the stored hash
 * and the hash of the day before, open days with the digests and the chain of the rows.
 */
export async function verifyAuditLogs(database: Database, organizationId: string): Promise<Verification> {
  const found: Verification = { closedDays: 0, rows: 0, faults: [] };
  for (const log of logs) {
    const position = await readChainPosition(database, 'system');
    const closed = await verifyClosedAuditDays(database, { log, organizationId, position }, found);
    // The retention may have cut days while their rows were read. Their missing rows are not faults.
    const keptFrom = getRetainedFrom(await readChainPosition(database, 'system'), log);
    found.faults.push(
      ...closed.filter(({ day }) => getStartOfUtcDay(day) >= keptFrom).map(({ day, text }) => `${day}: ${text}`),
    );
    await verifyOpenAuditDays(database, { log, organizationId, position }, found);
  }
  return found;
}

interface Chain {
  log: LogName;
  organizationId: string;
  position: ChainPosition;
}

function getRetainedFrom({ auditKeptFrom, accessKeptFrom }: ChainPosition, log: LogName): Date {
  return (log === 'audit' ? auditKeptFrom : accessKeptFrom) ?? new Date(0);
}

/**
 * Adds the faults of the stored hashes to `found`. Returns the faults of the rows with their days, because the
 * retention may delete the rows of a day at the same time.
 */
async function verifyClosedAuditDays(
  database: Database,
  chain: Chain,
  found: Verification,
): Promise<{ day: string; text: string }[]> {
  const { log, organizationId, position } = chain;
  if (!position.closedBefore) return [];
  const keptFrom = getRetainedFrom(position, log);
  const faults: { day: string; text: string }[] = [];
  const stored = await database.query<StoredDay>(
    'system',
    `SELECT day::text AS day, row_count, form, previous, hash, faults FROM audit_day
     WHERE organization_id = $1 AND log = $2 AND day < $3::date ORDER BY day`,
    [organizationId, log, formatUtcDay(position.closedBefore)],
  );
  const present = await countRowsByDay(database, { ...chain, from: keptFrom, to: position.closedBefore });
  let last: DayHash = null;
  for (const one of stored) {
    const { day, previous, hash } = one;
    found.closedDays += 1;
    found.faults.push(...one.faults.map((fault) => `${day}: ${fault}, before the day was closed`));
    if (previous !== computeHashBeforeDay(day, last)) {
      found.faults.push(
        `${day}: ${logTitles[log]}: the hash of the day before does not match; a day was changed or removed`,
      );
    }
    last = { day, hash };
    present.delete(day);
    if (getStartOfUtcDay(day) < keptFrom) continue;
    const [range] = await readRowRanges(database, 'system', { log, day, organizationId });
    const actual = await hashRowsOfDay(database, 'system', { log, day, range, previous, form: one.form });
    found.rows += actual.rows;
    if (actual.hash === hash && actual.rows === one.rowCount) continue;
    faults.push({ day, text: `${logTitles[log]}: ${describeRowDifference(actual.rows, one.rowCount)}` });
  }
  for (const [day, rows] of present) {
    found.rows += rows;
    faults.push({ day, text: `${logTitles[log]}: ${describeRowDifference(rows, 0)}` });
  }
  return faults;
}

function describeRowDifference(actual: number, closedWith: number): string {
  const closed = `${closedWith} ${closedWith === 1 ? 'row' : 'rows'} when the day was closed`;
  if (actual < closedWith) return `rows are missing: ${actual} of ${closed}`;
  if (actual > closedWith) return `rows were added: ${actual} instead of ${closed}`;
  return `a row was changed, or replaced with another: the hash differs from that of the ${closed}`;
}

async function countRowsByDay(
  database: Database,
  { log, organizationId, from, to }: Chain & { from: Date; to: Date },
): Promise<Map<string, number>> {
  const days = await database.query<{ day: string; rows: number }>(
    'system',
    `SELECT (at AT TIME ZONE 'UTC')::date::text AS day, count(*)::int AS rows FROM ${tableOf[log]}
     WHERE organization_id = $1 AND at >= $2 AND at < $3 GROUP BY 1 ORDER BY 1`,
    [organizationId, from, to],
  );
  return new Map(days.map(({ day, rows }) => [day, rows]));
}

async function verifyOpenAuditDays(database: Database, chain: Chain, found: Verification): Promise<void> {
  const { log, organizationId, position } = chain;
  const from = position.closedBefore ?? new Date(0);
  const rowDays = await countRowsByDay(database, { ...chain, from, to: new Date('9999-01-01T00:00:00Z') });
  const linkDays = await database.query<{ day: string }>(
    'system',
    `SELECT DISTINCT day::text AS day FROM audit_link WHERE organization_id = $1 AND log = $2 AND day >= $3::date`,
    [organizationId, log, formatUtcDay(from)],
  );
  for (const day of [...new Set([...rowDays.keys(), ...linkDays.map((one) => one.day)])].sort()) {
    const checked = await checkRowsOfOpenDay(database, { log, day, organizationId });
    const [range] = await readRowRanges(database, 'system', { log, day, organizationId });
    if (range) {
      for await (const row of streamRowsOfDay(database, 'system', { log, day, range })) {
        found.rows += 1;
        checked.add(row);
      }
    }
    found.faults.push(...checked.faults().map((fault) => `${day}: ${fault}`));
  }
}
