import {
  type Answered,
  createAnswer,
  checks,
  requireFields,
  requireHeaders,
  requireQuery,
  type TrackerCall,
  WireFault,
} from './tracker-wire';

export interface FakeIssue {
  number: number;
  html_url: string;
  title: string;
  body: string;
  labels: string[];
  state: 'open' | 'closed';
  state_reason: string | null;
  assignees: { login: string }[];
  created_at: string;
  updated_at: string;
  closed_at: string | null;
  events: object[];
}

export interface FakePull {
  number: number;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  head: { ref: string; label: string };
  created_at: string;
  updated_at: string;
  closed_at: string | null;
}

const repository = '/repos/acme/portal';
/** Path of the repository by its number instead of its name, as GitHub writes it in links to pages. */
const numbered = '/repositories/42';
/** Maximum page size. It is smaller than the requested size, so that there are several pages. */
const maxPageSize = 3;

const perPage = checks.integer(1, 100);
const order = { direction: checks.oneOf('asc', 'desc'), state: checks.oneOf('open', 'closed', 'all') };
const issueFields = {
  title: checks.text(256),
  body: checks.text(65_536),
  labels: checks.texts(50),
  assignees: checks.texts(39),
};

/** Milliseconds are removed, because GitHub's timestamps have whole seconds. */
function formatTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** A fake of GitHub's REST API, as far as the synchronization of feedback uses it. */
export class FakeCodehost {
  readonly issues: FakeIssue[] = [];
  readonly pulls: FakePull[] = [];
  readonly branches = new Map([['main', 'c0ffee'.padEnd(40, '0')]]);

  constructor(private readonly now: () => Date) {}

  /** Changes an issue like a user of GitHub. */
  changeIssue(
    issue: FakeIssue,
    change: Partial<Pick<FakeIssue, 'state' | 'state_reason' | 'assignees'>>,
    at?: Date,
  ): void {
    const now = formatTimestamp(at ?? this.now());
    if (change.state === 'closed') issue.closed_at = now;
    if (change.state === 'open') {
      issue.closed_at = null;
      if (issue.state === 'closed') issue.events.push({ event: 'reopened', created_at: now });
      issue.state_reason = issue.state === 'closed' ? 'reopened' : null;
    }
    if (change.assignees) {
      issue.events.push({ event: change.assignees.length ? 'assigned' : 'unassigned', created_at: now });
    }
    Object.assign(issue, change, { updated_at: now });
  }

  /** Opens a pull request like a user of GitHub. That does not change the issue that it refers to. */
  openPullRequest({ branch, body }: { branch: string; body: string | null }): FakePull {
    const now = formatTimestamp(this.now());
    const pull: FakePull = {
      ...{ number: this.nextNumber(), title: 'A change', body, state: 'open' },
      ...{ head: { ref: branch, label: `acme:${branch}` }, created_at: now, updated_at: now, closed_at: null },
    };
    this.pulls.push(pull);
    return pull;
  }

  closePullRequest(pull: FakePull): void {
    const now = formatTimestamp(this.now());
    Object.assign(pull, { state: 'closed', closed_at: now, updated_at: now });
  }

  answerRequest(call: TrackerCall, url: URL): Answered {
    if (call.headers.authorization !== 'Bearer codehost-token')
      return createAnswer(401, { message: 'Bad credentials' });
    requireHeaders(call, { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' });
    const { method, body } = call;
    const isLinked = url.pathname.startsWith(`${numbered}/`);
    if (isLinked !== url.searchParams.has('page')) throw new WireFault('a page that is not from a link');
    const path = url.pathname.slice((isLinked ? numbered : repository).length);
    if (!isLinked && !url.pathname.startsWith(`${repository}/`)) throw new WireFault('another repository');
    if (path === '/issues' && method === 'GET') return this.listIssues(url);
    if (path === '/issues' && method === 'POST') return this.makeIssue(body);
    const [, number, isTimeline] = /^\/issues\/(\d+)(\/timeline)?$/.exec(path) ?? [];
    if (number) return this.answerIssueRequest(call, { url, number: Number(number), isTimeline: Boolean(isTimeline) });
    if (path === '/pulls' && method === 'GET') return this.listPulls(url);
    if (path.startsWith('/git/')) return this.answerGitRequest(call, path);
    throw new WireFault('no such route');
  }

  private listIssues(url: URL): Answered {
    const sort = checks.oneOf('created', 'updated', 'comments');
    requireQuery(url, { ...order, sort, per_page: perPage, page: perPage }, ['per_page']);
    const state = url.searchParams.get('state') ?? 'open';
    // Pull requests are included, because GitHub also lists them as issues.
    const pulls = this.pulls.map((pull) => ({ ...pull, pull_request: { url: `${repository}/pulls/${pull.number}` } }));
    const rows = [...this.issues.map(presentIssue), ...pulls]
      .filter((each) => state === 'all' || each.state === state)
      .sort((one, other) => other.number - one.number);
    return createPageAnswer(url, rows);
  }

  private listPulls(url: URL): Answered {
    const sort = checks.oneOf('created', 'updated', 'popularity', 'long-running');
    const head = checks.like(/^[\w.-]+:[^\s:]+$/);
    requireQuery(url, { ...order, sort, head, per_page: perPage, page: perPage }, ['per_page']);
    const { searchParams } = url;
    const state = searchParams.get('state') ?? 'open';
    const label = searchParams.get('head');
    const rows = this.pulls
      .filter((pull) => (state === 'all' || pull.state === state) && (!label || pull.head.label === label))
      .sort((one, other) => other.updated_at.localeCompare(one.updated_at));
    return createPageAnswer(url, rows);
  }

  private makeIssue(body: any): Answered {
    requireFields(body, issueFields, ['title', 'body', 'labels']);
    const now = formatTimestamp(this.now());
    const number = this.nextNumber();
    const { title, labels } = body;
    const issue: FakeIssue = {
      ...{ number, html_url: `https://codehost.test/acme/portal/issues/${number}`, title, body: body.body, labels },
      ...{ state: 'open', state_reason: null, assignees: [], created_at: now, updated_at: now, closed_at: null },
      events: [],
    };
    this.issues.push(issue);
    return createAnswer(201, presentIssue(issue));
  }

  private answerIssueRequest(
    { method, body }: TrackerCall,
    { url, number, isTimeline }: { url: URL; number: number; isTimeline: boolean },
  ): Answered {
    const issue = this.issues.find((each) => each.number === number);
    if (!issue) return createAnswer(404, { message: 'Not Found' });
    if (isTimeline) {
      if (method !== 'GET') throw new WireFault('no such route');
      requireQuery(url, { per_page: perPage, page: perPage }, ['per_page']);
      return createPageAnswer(url, issue.events);
    }
    requireQuery(url, {});
    if (method === 'PATCH') {
      requireFields(body, {
        ...{ ...issueFields, state: checks.oneOf('open', 'closed') },
        state_reason: checks.oneOf('completed', 'not_planned', 'duplicate', 'reopened', null),
      });
      if (body.body !== undefined) issue.body = body.body;
      const { state, state_reason: reason = null } = body;
      if (state && (state !== issue.state || reason !== issue.state_reason)) {
        this.changeIssue(issue, state === 'closed' ? { state, state_reason: reason } : { state });
      }
    } else if (method !== 'GET') throw new WireFault('no such route');
    return createAnswer(200, presentIssue(issue));
  }

  private answerGitRequest({ method, body }: TrackerCall, path: string): Answered {
    const [, name] = /^\/git\/ref\/heads\/(.+)$/.exec(path) ?? [];
    if (name && method === 'GET') {
      const sha = this.branches.get(decodeURIComponent(name));
      return sha ? createAnswer(200, { object: { sha, type: 'commit' } }) : createAnswer(404, { message: 'Not Found' });
    }
    if (path !== '/git/refs' || method !== 'POST') throw new WireFault('no such route');
    const fields = { ref: checks.like(/^refs\/heads\/[^\s~^:?*[\\]+$/), sha: checks.like(/^[0-9a-f]{40}$/) };
    requireFields(body, fields, ['ref', 'sha']);
    const branch = body.ref.replace('refs/heads/', '');
    if (this.branches.has(branch)) return createAnswer(422, { message: 'Reference already exists' });
    this.branches.set(branch, body.sha);
    return createAnswer(201, { ref: body.ref, object: { sha: body.sha } });
  }

  private nextNumber(): number {
    return this.issues.length + this.pulls.length + 1;
  }
}

/** Returns a page with links to other pages, as GitHub writes them. */
function createPageAnswer(url: URL, rows: object[]): Answered {
  const size = Math.min(Number(url.searchParams.get('per_page')), maxPageSize);
  const page = Number(url.searchParams.get('page') ?? 1);
  const last = Math.max(Math.ceil(rows.length / size), 1);
  const formatPageLink = (number: number, rel: string) => {
    const target = new URL(url);
    target.pathname = url.pathname.replace(repository, numbered);
    target.searchParams.set('page', String(number));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [formatPageLink(page - 1, 'prev')] : []),
    ...(page < last ? [formatPageLink(page + 1, 'next'), formatPageLink(last, 'last')] : []),
  ];
  return createAnswer(200, rows.slice((page - 1) * size, page * size), links.length ? { link: links.join(', ') } : {});
}

function presentIssue({ events: _, labels, ...issue }: FakeIssue) {
  return { ...issue, labels: labels.map((name) => ({ name })), assignee: issue.assignees[0] ?? null };
}
