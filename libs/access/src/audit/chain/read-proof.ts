import { type AuditProof, invalidFieldError, type LogProof } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type ChainPosition, readChainPosition } from './chain-position';
import { readLastDayHash } from './close-days';
import {
  addDays,
  formatUtcDay,
  firstDay,
  computeHashBeforeDay,
  type HashedDay,
  hashRowsOfDay,
  readRowRanges,
  getStartOfUtcDay,
} from './days';
import type { LogName } from './presented-rows';

/** Returns the hashes of an organization's day: the stored ones of a closed day; those of an open day are computed. */
export async function readAuditProof(
  database: Database,
  organizationId: string,
  { day: askedDay, now }: { day?: string | undefined; now: Date },
): Promise<AuditProof> {
  const day = askedDay ?? formatUtcDay(now);
  if (day < firstDay || day > formatUtcDay(now)) {
    throw invalidFieldError('day', `day must be from ${firstDay} to ${formatUtcDay(now)}, the present day in UTC`);
  }
  const position = await readChainPosition(database, { organizationId });
  const isClosed = position.closedBefore !== null && getStartOfUtcDay(day) < position.closedBefore;
  const read = (log: LogName) =>
    readLogProof(database, { log, day, organizationId, position: isClosed ? null : position });
  return { day, closed: isClosed, audit: await read('audit'), accessLog: await read('access') };
}

async function readLogProof(
  database: Database,
  request: { log: LogName; day: string; organizationId: string; position: ChainPosition | null },
): Promise<LogProof> {
  const { log, day, organizationId, position } = request;
  const scope = { organizationId };
  const [stored] = await database.query<HashedDay>(
    scope,
    `SELECT row_count AS rows, previous, hash FROM audit_day WHERE organization_id = $1 AND log = $2 AND day = $3`,
    [organizationId, log, day],
  );
  if (stored) return stored;
  const last = await readLastDayHash(database, scope, { log, day, organizationId });
  if (!position) {
    return hashRowsOfDay(database, scope, { log, day, range: undefined, previous: computeHashBeforeDay(day, last) });
  }
  // The hash of an open day depends on those of the open days before it.
  const firstOpen = position.closedBefore
    ? formatUtcDay(position.closedBefore)
    : await findDayBeforeFirstRow(database, request);
  let current = last && last.day >= firstOpen ? addDays(last.day) : firstOpen < day ? firstOpen : day;
  for (let previous = computeHashBeforeDay(current, last); ; current = addDays(current)) {
    const [range] = await readRowRanges(database, scope, { log, day: current, organizationId });
    const hashed = await hashRowsOfDay(database, scope, { log, day: current, range, previous });
    if (current === day) return hashed;
    previous = hashed.hash;
  }
}

/** Returns the day before the organization's first row. It is the first open day as long as no position is stored. */
async function findDayBeforeFirstRow(
  database: Database,
  { log, day, organizationId }: { log: LogName; day: string; organizationId: string },
): Promise<string> {
  const [first] = await database.query<{ at: Date }>(
    { organizationId },
    `SELECT at FROM ${log === 'audit' ? 'audit_entry' : 'access_entry'} WHERE organization_id = $1 ORDER BY id LIMIT 1`,
    [organizationId],
  );
  return first ? addDays(formatUtcDay(first.at), -1) : day;
}
