export type { Tracker, TrackerItem } from './tracker';
export { ItemGone, TrackerBusy, TrackerClosed, TrackerRefused } from './tracker-errors';
export { Trackers } from './trackers';
export { TrackersConfig } from './trackers.config';
