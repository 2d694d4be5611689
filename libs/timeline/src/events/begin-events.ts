/* eslint-disable muster/one-clock -- Places in the timeline are dated by the database, as what several hosts wrote has one order. */
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { endOf, type EventPlace, readPlace } from './event-place';

/** For so many days a place can be gone on from, or for as long as the organization keeps its timeline. */
export const eventsKeptDays = 7;

export interface EventBeginning {
  /** What the reader has seen: it gets everything after it. */
  place: EventPlace;
  /** What it asked for is gone, or never was: it begins now. */
  resync?: { lastEventId: string; oldest: string };
}

/**
 * Where an organization's stream begins: after what the reader saw last, or now. A place that is older than what is
 * kept, or from the future (the database went back to a backup), can't be gone on from, and is said so.
 */
export async function beginEvents(
  database: Database,
  organizationId: string,
  lastEventId: string | undefined,
): Promise<EventBeginning> {
  const asked = lastEventId === undefined ? undefined : readPlace(lastEventId);
  if (asked === null) {
    throw new AppError('invalid_payload', { detail: 'Last-Event-ID must be the id of an event of this stream.' });
  }
  const [now] = await database.query<{ at: number; seen: string; days: number }>(
    { organizationId },
    `SELECT (extract(epoch FROM now()) * 1000)::bigint AS at, pg_current_snapshot()::text AS seen,
            LEAST($2::int, timeline_retention_days) AS days
     FROM organization_settings WHERE organization_id = $1`,
    [organizationId, eventsKeptDays],
    'begin_organization_events',
  );
  const { at, seen, days } = now!;
  if (!asked || lastEventId === undefined) return { place: { at, seen } };
  const oldest = at - days * 86_400_000;
  const isKept = asked.at >= oldest && endOf(asked.within?.upto ?? asked.seen) <= endOf(seen);
  if (isKept && endOf(asked.seen) <= endOf(seen)) return { place: asked };
  return { place: { at, seen }, resync: { lastEventId, oldest: new Date(oldest).toISOString() } };
}
