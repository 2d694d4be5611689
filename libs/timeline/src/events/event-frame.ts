import type { OrganizationStreamEvent } from '@muster/contracts';
import { formatEventFrame } from '@muster/platform';
import { type EventCursor, encodeEventCursor } from './event-cursor';
import { buildCursorAfter, type EventPage, type EventRow } from './read-events';

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
    const id = encodeEventCursor(at === rows.length - 1 ? next : buildCursorAfter(cursor, upto, row));
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

/** The fields of an event that come from the data of its timeline entry. */
interface EntryData {
  status: string;
  previousStatus?: string | null;
  currentStatus?: string;
  progress?: Record<string, unknown> | null;
  reason?: string;
  /** Present, together with the workflow's id, only in the event of a job without an agent, which is on no timeline. */
  jobId?: string;
  workflowId?: string;
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
      return {
        type,
        jobId: jobId ?? entryData.jobId!,
        agentId: agentId ?? null,
        workflowId: workflowId ?? entryData.workflowId ?? null,
        status,
        previousStatus,
        progress,
        timestamp,
      };
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
