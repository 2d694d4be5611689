import type { FeedbackStatus, TrackerName } from '@muster/contracts';

/** An issue or a task, as its tracker shows it. */
export interface TrackerItem {
  externalId: string;
  url: string;
  /** What its state is among ours. */
  status: FeedbackStatus;
  /** When it became that, by the tracker's own clock. */
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
  /** What its times are whole numbers of. */
  readonly clockStepMs: number;
  /** The repository or the list. */
  readonly scope: string;
  /** The oldest item made since then whose text has the marker, looked for in the list itself; tells before each page. */
  find(marker: string, since: Date, beforePage: () => Promise<void>): Promise<TrackerItem | null>;
  create(item: NewItem): Promise<TrackerItem>;
  /** What was done about it counts too: in pull requests from its branch, or with its marker in their text. */
  read(externalId: string, by: { marker: string; branch: string | null }): Promise<TrackerItem>;
  /** Carries a status to an item, and answers what the item then shows. */
  setStatus(item: TrackerItem, status: FeedbackStatus): Promise<TrackerItem>;
  setText(externalId: string, text: string): Promise<void>;
  /** What an item in this state would show once the status has arrived. */
  shown(item: TrackerItem, status: FeedbackStatus): Promise<FeedbackStatus>;
  /** Makes a branch, or finds that it is there. Not every tracker has branches. */
  makeBranch?(name: string, base: string): Promise<void>;
}
