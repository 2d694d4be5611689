import type { FeedbackStatus } from '@muster/contracts';
import type { NewItem, Tracker, TrackerItem } from './tracker';
import { ItemGone, TrackerRefused } from './tracker-errors';
import type { TrackerAnswer, TrackerHttp } from './tracker-http';

interface Task {
  id: string;
  url: string;
  description?: string | null;
  text_content?: string | null;
  status: ListStatus;
  date_created: string;
  date_updated?: string | null;
  date_closed?: string | null;
  date_done?: string | null;
}

interface ListStatus {
  status: string;
  type: string;
}

const maxPages = 100;
/** Time for which the statuses of the list are cached. People rename them now and then. */
const statusCacheMs = 60_000;

/** Tracker for the tasks of one list, over ClickUp’s REST API. */
export class ClickUpTracker implements Tracker {
  readonly name = 'tasktracker';
  readonly clockStepMs = 1;
  private cachedStatuses?: { at: number; statuses: ListStatus[] };

  constructor(
    readonly scope: string,
    private readonly http: TrackerHttp,
  ) {}

  async findItem(marker: string, since: Date, beforePage: () => Promise<void>): Promise<TrackerItem | null> {
    let found: Task | null = null;
    const seenIds = new Set<string>();
    for (let page = 0; page < maxPages; page += 1) {
      await beforePage();
      const query = `page=${page}&order_by=created&include_closed=true&subtasks=true&date_created_gt=${since.getTime()}`;
      const { body } = await this.http.sendRequest('GET', `${this.list}/task?${query}`, { about: 'scope' });
      const { tasks = [], last_page: isLast } = (body ?? {}) as { tasks?: Task[]; last_page?: boolean };
      const seenBefore = seenIds.size;
      for (const task of tasks) {
        seenIds.add(task.id);
        if (!getTaskText(task).includes(marker)) continue;
        if (!found || Number(task.date_created) < Number((found as Task).date_created)) found = task;
      }
      // The search also ends at a page whose tasks are already known, because a server without `last_page` can return
      // the same page for every page number.
      if (tasks.length === 0 || (isLast ?? seenIds.size === seenBefore)) break;
    }
    return found && toTrackerItem(found);
  }

  async createItem({ title, text, labels }: NewItem): Promise<TrackerItem> {
    const body = { name: title, description: text, tags: labels };
    return toTrackerItem(
      (await this.http.sendRequest('POST', `${this.list}/task`, { about: 'scope', body })).body as Task,
    );
  }

  async readItem(externalId: string): Promise<TrackerItem> {
    return toTrackerItem((await this.sendTaskRequest('GET', externalId)).body as Task);
  }

  async setStatus(item: TrackerItem, status: FeedbackStatus): Promise<TrackerItem> {
    const { status: name } = await this.findListStatus(status);
    return toTrackerItem((await this.sendTaskRequest('PUT', item.externalId, { status: name })).body as Task);
  }

  async setText(externalId: string, text: string): Promise<void> {
    await this.sendTaskRequest('PUT', externalId, { description: text });
  }

  async predictStatusAfter(_item: TrackerItem, status: FeedbackStatus): Promise<FeedbackStatus> {
    return toFeedbackStatus(await this.findListStatus(status));
  }

  private get list(): string {
    return `/list/${encodeURIComponent(this.scope)}`;
  }

  /** Returns the list’s status for a feedback status. Each list defines its own statuses, each with a type. */
  private async findListStatus(status: FeedbackStatus): Promise<ListStatus> {
    if (!this.cachedStatuses || Date.now() - this.cachedStatuses.at > statusCacheMs) {
      const { body } = await this.http.sendRequest('GET', this.list, { about: 'scope' });
      this.cachedStatuses = { at: Date.now(), statuses: (body as { statuses?: ListStatus[] }).statuses ?? [] };
    }
    const types = {
      ...{ received: ['open'], triaged: ['open'], in_progress: ['custom', 'open'], resolved: ['done', 'closed'] },
      ...{ closed: ['closed', 'done'], rejected: ['closed', 'done'] },
    }[status];
    const { statuses } = this.cachedStatuses;
    const found = types.map((type) => statuses.find((each) => each.type === type)).find(Boolean);
    if (!found) throw new TrackerRefused(`the list has no status of type ${types.join(' or ')}`);
    return found;
  }

  /** Sends a request about a task. Throws ItemGone if the task is gone, or TrackerClosed if the whole list is gone. */
  private async sendTaskRequest(method: string, externalId: string, body?: object): Promise<TrackerAnswer> {
    try {
      return await this.http.sendRequest(method, `/task/${encodeURIComponent(externalId)}`, { about: 'item', body });
    } catch (error) {
      if (error instanceof ItemGone) await this.http.sendRequest('GET', `${this.list}/task?page=0`, { about: 'scope' });
      throw error;
    }
  }
}

function getTaskText({ description, text_content: plain }: Task): string {
  return description ?? plain ?? '';
}

const statusOfType: Record<string, FeedbackStatus> = { open: 'triaged', done: 'resolved', closed: 'resolved' };

function toFeedbackStatus({ type }: ListStatus): FeedbackStatus {
  return statusOfType[type] ?? 'in_progress';
}

function toTrackerItem(task: Task): TrackerItem {
  const status = toFeedbackStatus(task.status);
  const endedAt = status === 'resolved' ? (task.date_done ?? task.date_closed) : null;
  return {
    externalId: task.id,
    url: task.url,
    text: getTaskText(task),
    status,
    changedAt: new Date(Number(endedAt ?? task.date_updated ?? task.date_created)),
  };
}
