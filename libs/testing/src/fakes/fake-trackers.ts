import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

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

export interface FakeTask {
  id: string;
  url: string;
  name: string;
  description: string;
  tags: string[];
  status: { status: string; type: string };
  date_created: string;
  date_updated: string;
  date_closed: string | null;
  date_done: string | null;
}

interface Call {
  method: string;
  path: string;
  body: any;
}

/** What happens to a call instead of, or after, its effect. */
export type Mishap =
  'lost before' | 'lost after' | { status: number; headers?: Record<string, string>; body?: object } | undefined;

const listStatuses = [
  { status: 'to do', type: 'open' },
  { status: 'doing', type: 'custom' },
  { status: 'ready', type: 'done' },
  { status: 'complete', type: 'closed' },
];

const repository = '/repos/acme/portal';
const pageSize = 3;

/** GitHub's and ClickUp's APIs as far as feedback uses them. What no real one would be sent is a fault. */
export class FakeTrackers {
  readonly issues: FakeIssue[] = [];
  readonly tasks: FakeTask[] = [];
  readonly branches = new Map([['main', 'c0ffee']]);
  readonly calls: Call[] = [];
  readonly faults: string[] = [];
  /** What happens to the next calls. */
  mishap: (call: Call) => Mishap = () => undefined;
  /** How far each one's clock is from ours. */
  skewMs = { codehost: 0, tasktracker: 0 };
  private server!: Server;

  static async start(): Promise<FakeTrackers> {
    const fake = new FakeTrackers();
    fake.server = createServer((request, response) => {
      fake.answer(request, response).catch((error: Error) => {
        fake.faults.push(error.message);
        response.writeHead(500).end();
      });
    });
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get env(): Record<string, string> {
    const at = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      FEEDBACK_AUTOMATION_ENABLED: 'true',
      FEEDBACK_CODEHOST_API_URL: at,
      FEEDBACK_CODEHOST_TOKEN: 'codehost-token',
      FEEDBACK_CODEHOST_REPOSITORY: 'acme/portal',
      FEEDBACK_TASKTRACKER_API_URL: `${at}/api/v2`,
      FEEDBACK_TASKTRACKER_TOKEN: 'tasktracker-token',
      FEEDBACK_TASKTRACKER_LIST_ID: '901',
    };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  issuesOf(submissionId: string): FakeIssue[] {
    return this.issues.filter(({ body }) => body.includes(`muster-feedback:${submissionId}`));
  }

  tasksOf(submissionId: string): FakeTask[] {
    return this.tasks.filter(({ description }) => description.includes(`muster-feedback:${submissionId}`));
  }

  /** Somebody changes an issue there. */
  moveIssue(
    issue: FakeIssue,
    change: Partial<Pick<FakeIssue, 'state' | 'state_reason' | 'assignees'>>,
    at?: Date,
  ): void {
    const now = (at ?? this.now('codehost')).toISOString();
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

  /** Somebody changes a task there. */
  moveTask(task: FakeTask, name: string, at?: Date): void {
    const now = String((at ?? this.now('tasktracker')).getTime());
    const status = listStatuses.find((each) => each.status === name);
    if (!status) throw new Error(`no status ${name}`);
    const isOver = status.type === 'done' || status.type === 'closed';
    Object.assign(task, {
      status,
      date_updated: now,
      date_done: isOver ? now : null,
      date_closed: status.type === 'closed' ? now : null,
    });
  }

  private now(tracker: 'codehost' | 'tasktracker'): Date {
    return new Date(Date.now() + this.skewMs[tracker]);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method = '', url = '' } = request;
    const call: Call = { method, path: url, body: text === '' ? undefined : JSON.parse(text) };
    this.calls.push(call);
    const mishap = this.mishap(call);
    if (mishap === 'lost before') return void request.socket.destroy();
    if (typeof mishap === 'object') {
      response.writeHead(mishap.status, { 'content-type': 'application/json', ...mishap.headers });
      return void response.end(JSON.stringify(mishap.body ?? { message: 'no' }));
    }
    const isTasks = url.startsWith('/api/v2/');
    const expected = isTasks ? 'tasktracker-token' : 'Bearer codehost-token';
    const known = request.headers.authorization === expected;
    if (!known) this.faults.push(`${method} ${url} with ${request.headers.authorization}`);
    const path = new URL(url, 'http://x');
    const { status, body, headers } = !known
      ? { status: 401, body: { message: 'Bad credentials' }, headers: {} }
      : isTasks
        ? this.clickup(method, path, call.body)
        : this.github(method, path, call.body);
    if (mishap === 'lost after') return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  }

  private unknown(method: string, { pathname }: URL) {
    this.faults.push(`${method} ${pathname}`);
    return { status: 404, body: { message: 'Not Found' }, headers: {} };
  }

  private github(method: string, url: URL, body: any): Answered {
    const { pathname, searchParams } = url;
    if (pathname === `${repository}/issues` && method === 'GET') {
      const page = Number(searchParams.get('page') ?? 1);
      const all = this.issues.toReversed();
      const rows = all.slice((page - 1) * pageSize, page * pageSize);
      const more = all.length > page * pageSize;
      return ok(rows.map(shownIssue), more ? { link: `<http://x${pathname}?page=${page + 1}>; rel="next"` } : {});
    }
    if (pathname === `${repository}/issues` && method === 'POST') return this.makeIssue(body);
    const [, number, rest = ''] = /\/issues\/(\d+)(\/timeline)?$/.exec(pathname) ?? [];
    if (number) {
      const issue = this.issues.find((each) => each.number === Number(number));
      if (!issue) return { status: 404, body: { message: 'Not Found' }, headers: {} };
      if (rest) return ok(issue.events);
      if (method === 'PATCH') {
        if (body.body !== undefined) issue.body = body.body;
        const { state, state_reason: reason = null } = body;
        if (state && (state !== issue.state || reason !== issue.state_reason)) {
          this.moveIssue(issue, state === 'closed' ? { state, state_reason: reason } : { state });
        }
      } else if (method !== 'GET') return this.unknown(method, url);
      return ok(shownIssue(issue));
    }
    if (pathname === `${repository}/pulls` && method === 'GET') return ok([]);
    if (pathname === `${repository}/git/ref/heads/main`) return ok({ object: { sha: this.branches.get('main') } });
    if (pathname === `${repository}/git/refs` && method === 'POST') {
      const name = String(body.ref).replace('refs/heads/', '');
      if (this.branches.has(name)) return { status: 422, body: { message: 'Reference already exists' }, headers: {} };
      this.branches.set(name, body.sha);
      return { status: 201, body: {}, headers: {} };
    }
    return this.unknown(method, url);
  }

  private makeIssue({ title, body, labels }: any): Answered {
    if (typeof title !== 'string' || typeof body !== 'string' || !Array.isArray(labels)) {
      this.faults.push('an issue without title, body or labels');
    }
    const now = this.now('codehost').toISOString();
    const number = this.issues.length + 1;
    const issue: FakeIssue = {
      ...{ number, html_url: `https://codehost.test/acme/portal/issues/${number}`, title, body, labels },
      ...{ state: 'open', state_reason: null, assignees: [], created_at: now, updated_at: now, closed_at: null },
      events: [],
    };
    this.issues.push(issue);
    return { status: 201, body: shownIssue(issue), headers: {} };
  }

  private clickup(method: string, url: URL, body: any): Answered {
    const { pathname, searchParams } = url;
    if (pathname === '/api/v2/list/901' && method === 'GET') return ok({ id: '901', statuses: listStatuses });
    if (pathname === '/api/v2/list/901/task' && method === 'GET') {
      const page = Number(searchParams.get('page') ?? 0);
      const all = this.tasks.toReversed();
      return ok({
        tasks: all.slice(page * pageSize, (page + 1) * pageSize),
        last_page: all.length <= (page + 1) * pageSize,
      });
    }
    if (pathname === '/api/v2/list/901/task' && method === 'POST') {
      const now = String(this.now('tasktracker').getTime());
      const id = `86c${this.tasks.length + 1}`;
      const task: FakeTask = {
        ...{ id, url: `https://tasks.test/t/${id}`, name: body.name, description: body.description, tags: body.tags },
        ...{ status: listStatuses[0]!, date_created: now, date_updated: now, date_closed: null, date_done: null },
      };
      this.tasks.push(task);
      return ok(task);
    }
    const [, id] = /^\/api\/v2\/task\/(\w+)$/.exec(pathname) ?? [];
    if (!id) return this.unknown(method, url);
    const task = this.tasks.find((each) => each.id === id);
    if (!task) return { status: 404, body: { err: 'Task not found, deleted', ECODE: 'ITEM_013' }, headers: {} };
    if (method === 'PUT') {
      if (body.description !== undefined) task.description = body.description;
      if (body.status !== undefined && body.status !== task.status.status) this.moveTask(task, body.status);
    } else if (method !== 'GET') return this.unknown(method, url);
    return ok(task);
  }
}

interface Answered {
  status: number;
  body: unknown;
  headers: Record<string, string>;
}

function ok(body: unknown, headers: Record<string, string> = {}): Answered {
  return { status: 200, body, headers };
}

function shownIssue({ events: _, ...issue }: FakeIssue): object {
  return issue;
}
