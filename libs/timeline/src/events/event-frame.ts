import type { OrganizationStreamEvent } from '@muster/contracts';
import { type EventPlace, writePlace } from './event-place';
import { type EventPage, type EventRow, placeBehind } from './read-events';

export interface EventFrame {
  type: OrganizationStreamEvent['type'];
  text: string;
}

/** What goes over the wire for a page. Each event has its place as its id: after the last one, that of the whole page. */
export function framesOf(place: EventPlace, { rows, next }: EventPage): EventFrame[] {
  const upto = place.within?.upto ?? next.within?.upto ?? next.seen;
  return rows.flatMap((row, at) => {
    const event = eventOf(row);
    if (!event) return [];
    const id = writePlace(at === rows.length - 1 ? next : placeBehind(place, upto, row));
    return [{ type: event.type, text: frame(id, event) }];
  });
}

/** Its id is where the stream goes on, so that the next resumption is no resync again. */
export function resyncFrameOf(place: EventPlace, resync: { lastEventId: string; oldest: string }): string {
  const id = writePlace(place);
  return frame(id, { type: 'resync', ...resync, latest: id });
}

/** What an entry says beside its message. */
interface Said {
  status: string;
  previousStatus?: string | null;
  currentStatus?: string;
  progress?: Record<string, unknown> | null;
  reason?: string;
}

function eventOf({ type, agentId, jobId, workflowId, message, data, at }: EventRow): OrganizationStreamEvent | null {
  const timestamp = at.toISOString();
  const said = (data ?? {}) as unknown as Said;
  const { status, previousStatus = null, progress = null, reason } = said;
  switch (type) {
    case 'job':
      return { type, jobId: jobId!, agentId: agentId!, workflowId, status, previousStatus, progress, timestamp };
    case 'status':
      return { type: 'agent', agentId: agentId!, status, previousStatus, why: reason ?? message!, timestamp };
    case 'lifecycle': {
      const { currentStatus } = said;
      // A move is told by its status.
      if (!currentStatus || previousStatus !== currentStatus) return null;
      const why = reason ?? message!;
      return { type: 'agent', agentId: agentId!, status: currentStatus, previousStatus: currentStatus, why, timestamp };
    }
    default:
      return { type, ...said, timestamp } as unknown as OrganizationStreamEvent;
  }
}

function frame(id: string, event: { type: string; [field: string]: unknown } | OrganizationStreamEvent): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
