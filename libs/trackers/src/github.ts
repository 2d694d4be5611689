import type { FeedbackStatus } from '@muster/contracts';
import type { NewItem, Tracker, TrackerItem } from './tracker';
import { ItemGone, TrackerRefused } from './tracker-errors';
import type { About, TrackerAnswer, TrackerHttp } from './tracker-http';

interface Issue {
  number: number;
  html_url: string;
  body: string | null;
  state: 'open' | 'closed';
  state_reason?: string | null;
  assignees?: unknown[];
  assignee?: unknown;
  created_at: string;
  updated_at: string;
  closed_at: string | null;
  pull_request?: unknown;
}

interface TimelineEvent {
  event: string;
  created_at?: string;
  source?: { issue?: { state: string; closed_at?: string | null; pull_request?: unknown } };
}

interface PullRequest {
  state: string;
  body: string | null;
  created_at: string;
  updated_at: string;
  closed_at: string | null;
}

const pageSize = 100;
/** Limits a search to 10,000 issues, so that it always ends. */
const maxPages = 100;
const maxTimelinePages = 10;
/** Limits a search to 1,000 pull requests that changed since the issue was created. */
const maxPullPages = 10;

/** Tracker for the issues of one repository, over GitHub’s REST API. */
export class GitHubTracker implements Tracker {
  readonly name = 'codehost';
  readonly clockStepMs = 1000;

  constructor(
    readonly scope: string,
    private readonly http: TrackerHttp,
  ) {}

  async findItem(marker: string, since: Date, beforePage: () => Promise<void>): Promise<TrackerItem | null> {
    let found: Issue | null = null;
    const path = `${this.issues}?state=all&sort=created&direction=desc&per_page=${pageSize}`;
    await this.readPages<Issue>(path, { limit: maxPages, about: 'scope', beforePage }, (page) => {
      found = page.filter((issue) => !issue.pull_request && issue.body?.includes(marker)).at(-1) ?? found;
      const last = page.at(-1);
      return last !== undefined && new Date(last.created_at) >= since;
    });
    return found && toTrackerItem(found);
  }

  async createItem({ title, text, labels }: NewItem): Promise<TrackerItem> {
    const body = { title, body: text, labels };
    return toTrackerItem((await this.http.sendRequest('POST', this.issues, { about: 'scope', body })).body as Issue);
  }

  async readItem(externalId: string, by: { marker: string; branch: string | null }): Promise<TrackerItem> {
    const issue = (await this.sendIssueRequest('GET', externalId)).body as Issue;
    const item = toTrackerItem(issue);
    if (issue.state === 'closed') return item;
    const pulls = await this.readActivity(issue, by);
    const reopenedAt = Math.max(...pulls.reopened, -Infinity);
    const began = Math.max(...pulls.began, -Infinity);
    const isAssigned = (issue.assignees?.length ?? 0) > 0 || Boolean(issue.assignee);
    const inProgress = (isAssigned || pulls.open) && !(reopenedAt > began && began > -Infinity);
    const at = Math.max(reopenedAt, began, ...pulls.ended);
    return {
      ...item,
      status: inProgress ? 'in_progress' : 'triaged',
      changedAt: at > -Infinity ? new Date(at) : item.changedAt,
    };
  }

  async setStatus(item: TrackerItem, status: FeedbackStatus): Promise<TrackerItem> {
    const body = isFinalStatus(status)
      ? { state: 'closed', state_reason: status === 'rejected' ? 'not_planned' : 'completed' }
      : { state: 'open' };
    const issue = (await this.sendIssueRequest('PATCH', item.externalId, body)).body as Issue;
    return toTrackerItem(issue);
  }

  async setText(externalId: string, text: string): Promise<void> {
    await this.sendIssueRequest('PATCH', externalId, { body: text });
  }

  predictStatusAfter(item: TrackerItem, status: FeedbackStatus): Promise<FeedbackStatus> {
    if (isFinalStatus(status)) return Promise.resolve(status === 'rejected' ? 'rejected' : 'resolved');
    // Whether an open issue counts as in progress depends on its assignees and pull requests, which this adapter never
    // changes.
    return Promise.resolve(isFinalStatus(item.status) ? 'triaged' : item.status);
  }

  async makeBranch(name: string, base: string): Promise<void> {
    const refs = `/repos/${this.scope}/git`;
    const head = await this.http
      .sendRequest('GET', `${refs}/ref/heads/${encodeURI(base)}`, { about: 'item' })
      .catch(throwBaseBranchError);
    const body = { ref: `refs/heads/${name}`, sha: (head.body as { object: { sha: string } }).object.sha };
    await this.http.sendRequest('POST', `${refs}/refs`, { about: 'scope', body }).catch((error: unknown) => {
      if (!(error instanceof TrackerRefused && /already exists/i.test(error.message))) throw error;
    });
  }

  private get issues(): string {
    return `/repos/${this.scope}/issues`;
  }

  /**
   * Sends a request about an issue. Throws ItemGone if the issue is gone, or TrackerClosed if the whole repository is
   * gone.
   */
  private async sendIssueRequest(method: string, externalId: string, body?: object): Promise<TrackerAnswer> {
    try {
      return await this.http.sendRequest(method, `${this.issues}/${externalId}`, { about: 'item', body });
    } catch (error) {
      if (error instanceof ItemGone)
        await this.http.sendRequest('GET', `${this.issues}?per_page=1`, { about: 'scope' });
      throw error;
    }
  }

  /** Collects assignments, reopenings and pull requests of an open issue, with their times. */
  private async readActivity(issue: Issue, { marker, branch }: { marker: string; branch: string | null }) {
    const activity = { open: false, began: [] as number[], ended: [] as number[], reopened: [] as number[] };
    const timeline = `${this.issues}/${issue.number}/timeline?per_page=${pageSize}`;
    await this.readPages<TimelineEvent>(timeline, { limit: maxTimelinePages, about: 'item' }, (events) => {
      for (const event of events) applyTimelineEvent(event, activity);
      return true;
    }).catch(ignoreGoneError);
    const pulls = `/repos/${this.scope}/pulls?state=all&sort=updated&direction=desc&per_page=${pageSize}`;
    const since = Date.parse(issue.created_at);
    await this.readPages<PullRequest>(pulls, { limit: maxPullPages, about: 'item' }, (page) => {
      for (const pull of page) if (pull.body?.includes(marker)) applyPullRequest(pull, activity);
      const last = page.at(-1);
      return last !== undefined && Date.parse(last.updated_at) >= since;
    }).catch(ignoreGoneError);
    if (branch) {
      const head = encodeURIComponent(`${this.scope.split('/')[0]}:${branch}`);
      await this.readPages<PullRequest>(`${pulls}&head=${head}`, { limit: maxPullPages, about: 'item' }, (page) => {
        for (const pull of page) applyPullRequest(pull, activity);
        return true;
      }).catch(ignoreGoneError);
    }
    return activity;
  }

  /** Reads pages by the `next` links of the responses until `onPage` returns false or `limit` pages are read. */
  private async readPages<T>(
    path: string,
    { limit, about, beforePage }: { limit: number; about: About; beforePage?: () => Promise<void> },
    onPage: (page: T[]) => boolean,
  ): Promise<void> {
    let next: string | null = path;
    for (let page = 1; next !== null && page <= limit; page += 1) {
      await beforePage?.();
      const { nextPage, body }: TrackerAnswer = await this.http.sendRequest('GET', next, { about });
      if (!onPage(Array.isArray(body) ? (body as T[]) : [])) return;
      next = nextPage;
    }
  }
}

type Activity = { open: boolean; began: number[]; ended: number[]; reopened: number[] };

function applyTimelineEvent({ event, created_at: at, source }: TimelineEvent, activity: Activity): void {
  const time = at ? Date.parse(at) : NaN;
  if (Number.isNaN(time)) return;
  if (event === 'assigned') activity.began.push(time);
  if (event === 'unassigned') activity.ended.push(time);
  if (event === 'reopened') activity.reopened.push(time);
  const referenced = event === 'cross-referenced' ? source?.issue : undefined;
  if (!referenced?.pull_request) return;
  if (referenced.state === 'open') {
    activity.open = true;
    activity.began.push(time);
  } else if (referenced.closed_at) activity.ended.push(Date.parse(referenced.closed_at));
}

function applyPullRequest({ state, created_at: openedAt, closed_at: closedAt }: PullRequest, activity: Activity): void {
  activity.began.push(Date.parse(openedAt));
  if (state === 'open') activity.open = true;
  else if (closedAt) activity.ended.push(Date.parse(closedAt));
}

/** Ignores a missing timeline or pull request list: it does not mean that the issue is gone. */
function ignoreGoneError(error: unknown): void {
  if (!(error instanceof ItemGone)) throw error;
}

function throwBaseBranchError(error: unknown): never {
  if (error instanceof ItemGone) throw new TrackerRefused(`the base branch does not exist (${error.message})`);
  throw error;
}

function isFinalStatus(status: FeedbackStatus): boolean {
  return status === 'resolved' || status === 'closed' || status === 'rejected';
}

function toTrackerItem(issue: Issue): TrackerItem {
  const { number, html_url: url, body, state, closed_at: closedAt, updated_at: updatedAt } = issue;
  const isAssigned = (issue.assignees?.length ?? 0) > 0 || Boolean(issue.assignee);
  const closedStatus: FeedbackStatus = issue.state_reason === 'not_planned' ? 'rejected' : 'resolved';
  return {
    externalId: String(number),
    url,
    text: body ?? '',
    status: state === 'closed' ? closedStatus : isAssigned ? 'in_progress' : 'triaged',
    changedAt: new Date((state === 'closed' && closedAt) || updatedAt || issue.created_at),
  };
}
