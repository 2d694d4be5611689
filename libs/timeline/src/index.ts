export {
  appendLinesSql,
  appendTimeline,
  appendTimelines,
  deleteTimelineOfJob,
  appendEntriesSql,
  type EntryKind,
  type EntryLevel,
  encodeEntryParameter,
  type TimelineEntry,
  type TimelineRef,
} from './entries/append-timeline';
export { maintainTimelinePartitions } from './entries/maintain-timeline-partitions';
export { listTimeline, readJobLogs } from './entries/list-timeline';
export { purgeTimeline } from './entries/purge-timeline';
export { findStoredRange } from './entries/read-next-entries';
export { formatResyncFrame, type TimelineRow } from './entries/timeline-event';
export { decideStreamStart } from './entries/decide-stream-start';
export { findEventStreamStart, eventsKeptDays } from './events/find-event-stream-start';
export { formatEventResyncFrame } from './events/event-frame';
export { EventHub } from './events/event-hub';
export { encodeEventCursor } from './events/event-cursor';
export { EventStream } from './events/event-stream';
export { ReaderConnection } from './streams/reader-connection';
export { StreamRoom } from './streams/stream-room';
export { TimelineHub } from './streams/timeline-hub';
export { TimelineStream } from './streams/timeline-stream';
