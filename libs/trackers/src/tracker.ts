import type { FeedbackStatus, TrackerName } from '@muster/contracts';

/** An issue or a task as its tracker shows it. */
export interface TrackerItem {
  externalId: string;
  url: string;
  /** State of the item, mapped to a feedback status. */
  status: FeedbackStatus;
  /** Time at which the item got its current status, by the tracker’s clock. */
  changedAt: Date;
  text: string;
}

export interface NewItem {
  title: string;
  text: string;
  labels: string[];
}

export interface Tracker {
  readonly name: TrackerName;
  /** Resolution of the tracker’s timestamps in milliseconds. */
  readonly clockStepMs: number;
  /** Id of the repository or list that contains the items. */
  readonly scope: string;
  /**
   * Returns the oldest item created since `since` whose text contains `marker`. Reads the list, not the search index,
   * which lags. Calls `beforePage` before each page.
   */
  findItem(marker: string, since: Date, beforePage: () => Promise<void>): Promise<TrackerItem | null>;
  createItem(item: NewItem): Promise<TrackerItem>;
  /** Reads an item. Pull requests from its branch, or with `marker` in their text, count as work on the item. */
  readItem(externalId: string, by: { marker: string; branch: string | null }): Promise<TrackerItem>;
  /** Sets the status of an item. Returns the item as the tracker shows it afterwards. */
  setStatus(item: TrackerItem, status: FeedbackStatus): Promise<TrackerItem>;
  setText(externalId: string, text: string): Promise<void>;
  /** Returns the status that the item would show after `setStatus` with this status. */
  predictStatusAfter(item: TrackerItem, status: FeedbackStatus): Promise<FeedbackStatus>;
  /** Creates a branch if it does not exist. Absent for trackers without branches. */
  makeBranch?(name: string, base: string): Promise<void>;
}
