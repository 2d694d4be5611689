import type { TimelineEntryEntity } from '@muster/database';
import { formatEventFrame } from '@muster/platform';

/** The columns of a stored entry that a stream event needs. */
export type TimelineRow = Pick<
  TimelineEntryEntity,
  'seq' | 'kind' | 'level' | 'message' | 'source' | 'jobId' | 'data' | 'at'
>;

type StreamEvent = { type: 'lifecycle' | 'status' | 'job' | 'log' } & Record<string, unknown>;

/** Converts a timeline entry to an event of the stream (interface, section 6; contract, "Agents"). */
function toStreamEvent({ kind, level, message, source, jobId, data, at }: TimelineRow): StreamEvent {
  const timestamp = at.toISOString();
  switch (kind) {
    case 'lifecycle':
      return {
        type: 'lifecycle',
        eventType: data?.['eventType'] ?? null,
        source,
        reason: data?.['reason'] ?? message,
        ...pickDataFields(data, ['previousStatus', 'currentStatus']),
        timestamp,
      };
    case 'status':
      return {
        type: 'status',
        ...pickDataFields(data, ['status', 'previousStatus', 'lastSeen', 'vmState']),
        timestamp,
      };
    case 'job':
      return { type: 'job', jobId, ...pickDataFields(data, ['status', 'previousStatus', 'progress']), timestamp };
    default:
      // The API shows the time of a log entry always in unix seconds (contract, "Conventions").
      return { type: 'log', jobId, level, message, timestamp: Math.floor(at.getTime() / 1000) };
  }
}

/** Returns a timeline entry as the text of a server-sent event. */
export function formatTimelineFrame(row: TimelineRow): string {
  const event = toStreamEvent(row);
  return formatEventFrame({ id: row.seq, event: event.type, data: event });
}

export interface Resync {
  lastEventId: string;
  oldest: string | null;
  latest: string;
}

/**
 * Returns a resync event. Its id is the position from which the stream continues, so that the reader's next reconnect
 * needs no resync.
 */
export function formatResyncFrame(resync: Resync): string {
  return formatEventFrame({ id: resync.latest, event: 'resync', data: { type: 'resync', ...resync } });
}

function pickDataFields(data: Record<string, unknown> | null, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, data?.[name] ?? null]));
}
