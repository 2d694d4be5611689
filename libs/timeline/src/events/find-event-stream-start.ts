/* eslint-disable muster/one-clock -- Timeline entries are dated by the database clock, which gives the entries of all hosts one order. */
import { AppError } from '@muster/contracts';
import type { Database } from '@muster/database';
import { parseSnapshotEnd, type EventCursor, decodeEventCursor } from './event-cursor';

/**
 * Number of days for which a stream can resume from a cursor. If the organization keeps its timeline for a shorter
 * time, that time applies.
 */
export const eventsKeptDays = 7;

export interface EventBeginning {
  /** The position after which the reader gets events. */
  cursor: EventCursor;
  /** Set if the requested events were deleted or never existed. The stream then starts now. */
  resync?: { lastEventId: string; oldest: string };
}

/**
 * Decides where an organization's stream starts: after the last event that the reader has seen, or now. A stream cannot
 * resume from a cursor that is older than the stored events. It also cannot resume from a cursor that does not exist
 * yet, because the database was restored from a backup. In both cases a resync event reports that events are missing.
 */
export async function findEventStreamStart(
  database: Database,
  organizationId: string,
  lastEventId: string | undefined,
): Promise<EventBeginning> {
  const requested = lastEventId === undefined ? undefined : decodeEventCursor(lastEventId);
  if (requested === null) {
    throw new AppError('invalid_payload', {
      detail: 'Last-Event-ID must be the id of an event of this stream. To start from now, send no id.',
    });
  }
  const [now] = await database.query<{ at: number; snapshot: string; days: number }>(
    { organizationId },
    `SELECT (extract(epoch FROM now()) * 1000)::bigint AS at, pg_current_snapshot()::text AS snapshot,
            LEAST($2::int, timeline_retention_days) AS days
     FROM organization_settings WHERE organization_id = $1`,
    [organizationId, eventsKeptDays],
    'begin_organization_events',
  );
  const { at, snapshot, days } = now!;
  if (!requested || lastEventId === undefined) return { cursor: { at, snapshot } };
  const oldest = at - days * 86_400_000;
  const isStored =
    requested.at >= oldest &&
    parseSnapshotEnd(requested.within?.upto ?? requested.snapshot) <= parseSnapshotEnd(snapshot);
  if (isStored && parseSnapshotEnd(requested.snapshot) <= parseSnapshotEnd(snapshot)) return { cursor: requested };
  return { cursor: { at, snapshot }, resync: { lastEventId, oldest: new Date(oldest).toISOString() } };
}
