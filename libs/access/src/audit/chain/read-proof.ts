import { type AuditProof, invalidFieldError, type LogProof } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type ChainPosition, readPosition } from './chain-position';
import { lastHashBefore } from './close-days';
import { dayAfter, dayOf, firstDay, hashBefore, type HashedDay, hashDay, rangesOf, getStartOfUtcDay } from './days';
import type { LogName } from './presented-rows';

/** Returns the hashes of an organization's day: the stored ones of a closed day; those of an open day are computed. */
export async function readProof(
  database: Database,
  organizationId: string,
  { day: askedDay, now }: { day?: string | undefined; now: Date },
): Promise<AuditProof> {
  const day = askedDay ?? dayOf(now);
  if (day < firstDay || day > dayOf(now)) {
    throw invalidFieldError('day', `day must be from ${firstDay} to ${dayOf(now)}, the present day in UTC`);
  }
  const position = await readPosition(database, { organizationId });
  const isClosed = position.closedBefore !== null && getStartOfUtcDay(day) < position.closedBefore;
  const read = (log: LogName) => proofOf(database, { log, day, organizationId, position: isClosed ? null : position });
  return { day, closed: isClosed, audit: await read('audit'), accessLog: await read('access') };
}

async function proofOf(
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
  const last = await lastHashBefore(database, scope, { log, day, organizationId });
  if (!position) {
    return hashDay(database, scope, { log, day, range: undefined, previous: hashBefore(day, last) });
  }
  // The hash of an open day depends on those of the open days before it.
  const firstOpen = position.closedBefore ? dayOf(position.closedBefore) : await firstDayOf(database, request);
  let current = last && last.day >= firstOpen ? dayAfter(last.day) : firstOpen < day ? firstOpen : day;
  for (let previous = hashBefore(current, last); ; current = dayAfter(current)) {
    const [range] = await rangesOf(database, scope, { log, day: current, organizationId });
    const hashed = await hashDay(database, scope, { log, day: current, range, previous });
    if (current === day) return hashed;
    previous = hashed.hash;
  }
}

/** Returns the day before the organization's first row. It is the first open day as long as no position is stored. */
async function firstDayOf(
  database: Database,
  { log, day, organizationId }: { log: LogName; day: string; organizationId: string },
): Promise<string> {
  const [first] = await database.query<{ at: Date }>(
    { organizationId },
    `SELECT at FROM ${log === 'audit' ? 'audit_entry' : 'access_entry'} WHERE organization_id = $1 ORDER BY id LIMIT 1`,
    [organizationId],
  );
  return first ? dayAfter(dayOf(first.at), -1) : day;
}
