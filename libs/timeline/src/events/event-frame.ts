import type { OrganizationStreamEvent } from '@muster/contracts';
import { formatEventFrame } from '@muster/platform';
import { type EventCursor, encodeEventCursor } from './event-cursor';
import { cursorAfter, type EventPage, type EventRow } from './read-events';

export interface EventFrame {
  type: OrganizationStreamEvent['type'];
  text: string;
}

/**
 * Returns a page of events as server-sent events. The id of each event is the cursor after this event; the id of the
 * last one is the end of the page.
 */
export function formatEventFrames(cursor: EventCursor, { rows, next }: EventPage): EventFrame[] {
  const upto = cursor.within?.upto ?? next.within?.upto ?? next.snapshot;
  return rows.flatMap((row, at) => {
    const event = toOrganizationEvent(row);
    if (!event) return [];
    const id = encodeEventCursor(at === rows.length - 1 ? next : cursorAfter(cursor, upto, row));
    return [{ type: event.type, text: formatEventFrame({ id, event: event.type, data: event }) }];
  });
}

/**
 * Returns a resync event. Its id is the cursor from which the stream continues, so that the reader's next reconnect
 * needs no resync.
 */
export function formatEventResyncFrame(cursor: EventCursor, resync: { lastEventId: string; oldest: string }): string {
  const id = encodeEventCursor(cursor);
  return formatEventFrame({ id, event: 'resync', data: { type: 'resync', ...resync, latest: id } });
}

/** The data of an entry, in addition to its message. */
interface EntryData {
  status: string;
  previousStatus?: string | null;
  currentStatus?: string;
  progress?: Record<string, unknown> | null;
  reason?: string;
}

function toOrganizationEvent({
  type,
  agentId,
  jobId,
  workflowId,
  message,
  data,
  at,
}: EventRow): OrganizationStreamEvent | null {
  const timestamp = at.toISOString();
  const entryData = (data ?? {}) as unknown as EntryData;
  const { status, previousStatus = null, progress = null, reason } = entryData;
  switch (type) {
    case 'job':
      return { type, jobId: jobId!, agentId: agentId!, workflowId, status, previousStatus, progress, timestamp };
    case 'status':
      return { type: 'agent', agentId: agentId!, status, previousStatus, why: reason ?? message!, timestamp };
    case 'lifecycle': {
      const { currentStatus } = entryData;
      // A lifecycle entry that only repeats a change of status is left out, because each change of status has an entry
      // of the kind status.
      if (!currentStatus || previousStatus !== currentStatus) return null;
      const why = reason ?? message!;
      return { type: 'agent', agentId: agentId!, status: currentStatus, previousStatus: currentStatus, why, timestamp };
    }
    default:
      return { type, ...entryData, timestamp } as unknown as OrganizationStreamEvent;
  }
}
