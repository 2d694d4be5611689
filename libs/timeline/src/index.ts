export {
  appendLinesSql,
  appendTimeline,
  appendTimelines,
  dropTimelineOfJob,
  appendEntriesSql,
  type EntryKind,
  type EntryLevel,
  entryParameter,
  type TimelineEntry,
  type TimelineRef,
} from './entries/append-timeline';
export { keepTimelinePartitions } from './entries/keep-partitions';
export { listTimeline, readJobLogs } from './entries/list-timeline';
export { purgeTimeline } from './entries/purge-timeline';
export { findTimeline } from './entries/read-next-entries';
export { resyncFrame, type TimelineRow } from './entries/timeline-event';
export { whereToBegin } from './entries/where-to-begin';
export { beginEvents, eventsKeptDays } from './events/begin-events';
export { resyncFrameOf } from './events/event-frame';
export { EventHub } from './events/event-hub';
export { writeCursor } from './events/event-cursor';
export { EventStream } from './events/event-stream';
export { ReaderConnection } from './streams/reader-connection';
export { StreamRoom } from './streams/stream-room';
export { TimelineHub } from './streams/timeline-hub';
export { TimelineStream } from './streams/timeline-stream';
