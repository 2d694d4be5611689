import { Logger } from '@nestjs/common';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';
import { type ChainPosition, readChainPosition } from './chain-position';
import { checkRowsOfOpenDay } from './check-open-day';
import {
  type DayHash,
  addDays,
  dayMs,
  formatUtcDay,
  computeHashBeforeDay,
  hashRowsOfDay,
  readRowRanges,
  type RowRange,
  getStartOfUtcDay,
} from './days';
import { currentForm, type LogName, logs } from './presented-rows';

/**
 * Time in ms after midnight (UTC) at which the service starts to close the previous day. No row is added to that day
 * afterwards: the transaction of an audit row runs again at the present time, and an access is recorded with the time
 * at which it is stored.
 */
export const closeAfterMs = 10 * 60_000;

const logger = new Logger('audit chain');

/**
 * Closes the days that have ended: stores the hash of each organization's rows. A day may close only if no transaction
 * can add a row to it any more. So the service first stores the new position, which new transactions respect. Then it
 * reads the id of the next transaction, and closes the days once every transaction with a smaller id has ended. No
 * write waits for this, and none takes a lock.
 */
export async function closeAuditDays(database: Database, now: Date, round: Round): Promise<{ closed: number }> {
  let closed = 0;
  for (let position = await readChainPosition(database, 'system'); round.hasTime;) {
    const step = await advanceDayClosing(database, position, now);
    if (step === 'wait') break;
    if (step === 'close') {
      if (!(await closeNextAuditDay(database, position, round))) break;
      closed += 1;
    }
    position = await readChainPosition(database, 'system');
  }
  return { closed };
}

async function advanceDayClosing(
  database: Database,
  position: ChainPosition,
  now: Date,
): Promise<'wait' | 'again' | 'close'> {
  const { closedBefore, closingBefore, fence } = position;
  if (!closedBefore) {
    await openAuditChains(database, now);
    return 'again';
  }
  if (closingBefore && closingBefore > closedBefore) {
    if (fence === null) {
      await database.query(
        'system',
        `UPDATE audit_chain SET fence = pg_snapshot_xmax(pg_current_snapshot())::text
         WHERE fence IS NULL AND closing_before = $1`,
        [closingBefore],
      );
      return 'again';
    }
    const [row] = await database.query<{ over: boolean }>(
      'system',
      'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS over',
      [fence],
    );
    return row!.over ? 'close' : 'wait';
  }
  const openDay = getStartOfUtcDay(formatUtcDay(new Date(now.getTime() - closeAfterMs)));
  if (openDay <= closedBefore) return 'wait';
  await database.query(
    'system',
    `UPDATE audit_chain SET closing_before = $1, fence = NULL WHERE closed_before = $2 AND closed_before < $1
       AND (closing_before IS NULL OR closing_before <= closed_before)`,
    [openDay, closedBefore],
  );
  return 'again';
}

/** Opens the chains at the day of the oldest row, so that the rows of earlier releases are part of the chains. */
async function openAuditChains(database: Database, now: Date): Promise<void> {
  const [first] = await database.query<{ at: Date }>(
    'system',
    `SELECT LEAST($1, (SELECT at FROM audit_entry ORDER BY id LIMIT 1), (SELECT at FROM access_entry ORDER BY id LIMIT 1))
       AS at`,
    [now],
  );
  // An hour is subtracted, because the row with the smallest id may be slightly younger than the earliest row.
  const start = getStartOfUtcDay(formatUtcDay(new Date(first!.at.getTime() - 3_600_000)));
  await database.query('system', 'UPDATE audit_chain SET closed_before = $1 WHERE closed_before IS NULL', [start]);
}

/** Closes the next day that has rows, together with the days without rows before it. */
async function closeNextAuditDay(database: Database, position: ChainPosition, round: Round): Promise<boolean> {
  const closedBefore = position.closedBefore!;
  const closingBefore = position.closingBefore!;
  const [next] = await database.query<{ at: Date | null }>(
    'system',
    `SELECT LEAST((SELECT min(at) FROM audit_entry WHERE at >= $1 AND at < $2),
                  (SELECT min(at) FROM access_entry WHERE at >= $1 AND at < $2)) AS at`,
    [closedBefore, closingBefore],
  );
  const day = next!.at ? formatUtcDay(next!.at) : null;
  if (day) {
    for (const log of logs) {
      for (const range of await readRowRanges(database, 'system', { log, day })) {
        if (!round.hasTime) return false;
        await closeAuditDay(database, { log, day, range });
      }
    }
  }
  const end = day ? getStartOfUtcDay(addDays(day)) : closingBefore;
  return database.transaction('system', async (tx) => {
    const moved = await tx.execute('UPDATE audit_chain SET closed_before = $1 WHERE closed_before = $2', [
      end,
      closedBefore,
    ]);
    if (moved > 0) await tx.execute('DELETE FROM audit_link WHERE day < $1::date', [formatUtcDay(end)]);
    return true;
  });
}

async function closeAuditDay(
  database: Database,
  { log, day, range }: { log: LogName; day: string; range: RowRange },
): Promise<void> {
  const { organizationId } = range;
  const last = await readLastDayHash(database, 'system', { log, day, organizationId });
  if (last?.day === day) return;
  const checked = await checkRowsOfOpenDay(database, { log, day, organizationId });
  const { rows, previous, hash } = await hashRowsOfDay(
    database,
    'system',
    { log, day, range, previous: computeHashBeforeDay(day, last) },
    (row) => checked.add(row),
  );
  const faults = checked.faults();
  for (const fault of faults) logger.error(`organization ${organizationId}, ${day}: ${fault}`);
  await database.query(
    'system',
    `INSERT INTO audit_day (organization_id, log, day, row_count, form, previous, hash, faults)
     SELECT o.id, $2, $3, $4, $5, $6, $7, $8 FROM organization o WHERE o.id = $1
     ON CONFLICT DO NOTHING`,
    [organizationId, log, day, rows, currentForm, previous, hash, faults],
  );
}

/** Returns the hash of the last stored day up to and including `day`; null if there is none. */
export async function readLastDayHash(
  database: Database,
  scope: 'system' | { organizationId: string },
  { log, day, organizationId }: { log: LogName; day: string; organizationId: string },
): Promise<DayHash> {
  const [row] = await database.query<{ day: string; hash: string }>(
    scope,
    `SELECT day::text AS day, hash FROM audit_day
     WHERE organization_id = $1 AND log = $2 AND day <= $3::date ORDER BY day DESC LIMIT 1`,
    [organizationId, log, day],
  );
  return row ?? null;
}

/** Returns the first moment (UTC) of the day that was this number of days before the present day. */
export function getStartOfDayBefore(now: Date, days: number): Date {
  return getStartOfUtcDay(formatUtcDay(new Date(now.getTime() - days * dayMs)));
}
