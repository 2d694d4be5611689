/* eslint-disable muster/one-clock -- Timeline entries are dated by the database clock, which gives the entries of all hosts one order. */
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { endOf, type EventPlace, readPlace } from './event-place';

/** Number of days for which a stream can resume from a cursor; fewer if the organization keeps its timeline shorter. */
export const eventsKeptDays = 7;

export interface EventBeginning {
  /** The position of the reader; it gets all later events. */
  place: EventPlace;
  /** Set if the requested events were deleted or never existed: the stream starts now. */
  resync?: { lastEventId: string; oldest: string };
}

/**
 * Decides where an organization's stream starts: after the last event that the reader saw, or now. A stream cannot
 * resume from a cursor that is older than the stored events, or that does not exist yet because the database was
 * restored from a backup; then a resync event reports this.
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
