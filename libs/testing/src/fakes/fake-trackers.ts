import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeCodehost, type FakeIssue, type FakePull } from './fake-codehost';
import { type FakeTask, FakeTasktracker } from './fake-tasktracker';
import { createAnswer, type TrackerCall, WireFault } from './tracker-wire';

/**
 * The failure of a call: the connection is lost before or after the call takes effect, or an error response is sent
 * instead.
 */
export type Mishap =
  'lost before' | 'lost after' | { status: number; headers?: Record<string, string>; body?: object } | undefined;

/**
 * Fakes of GitHub's and ClickUp's APIs, as far as the synchronization of feedback uses them. Requests that no real API
 * would accept are listed in `faults`.
 */
export class FakeTrackers {
  readonly calls: TrackerCall[] = [];
  readonly faults: string[] = [];
  /** Returns the failure of a call. The call waits until a returned promise resolves. */
  mishap: (call: TrackerCall) => Mishap | Promise<Mishap> = () => undefined;
  /** Difference between the clock of each tracker and the real time in milliseconds. */
  skewMs = { codehost: 0, tasktracker: 0 };
  private readonly codehost = new FakeCodehost(() => new Date(Date.now() + this.skewMs.codehost));
  private readonly tasktracker = new FakeTasktracker(() => new Date(Date.now() + this.skewMs.tasktracker));
  private server!: Server;

  static async start(): Promise<FakeTrackers> {
    const fake = new FakeTrackers();
    fake.server = createServer((request, response) => {
      fake.answerRequest(request, response).catch((error: Error) => {
        fake.faults.push(error.message);
        response.writeHead(500).end();
      });
    });
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get environment(): Record<string, string> {
    return {
      FEEDBACK_AUTOMATION_ENABLED: 'true',
      FEEDBACK_CODEHOST_API_URL: this.url,
      FEEDBACK_CODEHOST_TOKEN: 'codehost-token',
      FEEDBACK_CODEHOST_REPOSITORY: 'acme/portal',
      FEEDBACK_TASKTRACKER_API_URL: `${this.url}/api/v2`,
      FEEDBACK_TASKTRACKER_TOKEN: 'tasktracker-token',
      FEEDBACK_TASKTRACKER_LIST_ID: '901',
    };
  }

  get tasks(): FakeTask[] {
    return this.tasktracker.tasks;
  }

  get issues(): FakeIssue[] {
    return this.codehost.issues;
  }

  get branches(): Map<string, string> {
    return this.codehost.branches;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  listIssuesOf(submissionId: string): FakeIssue[] {
    return this.codehost.issues.filter(({ body }) => body.includes(`muster-feedback:${submissionId}`));
  }

  listTasksOf(submissionId: string): FakeTask[] {
    return this.tasks.filter(({ description }) => description.includes(`muster-feedback:${submissionId}`));
  }

  changeIssue(...args: Parameters<FakeCodehost['changeIssue']>): void {
    this.codehost.changeIssue(...args);
  }

  changeTaskStatus(...args: Parameters<FakeTasktracker['changeTaskStatus']>): void {
    this.tasktracker.changeTaskStatus(...args);
  }

  openPullRequest(...args: Parameters<FakeCodehost['openPullRequest']>): FakePull {
    return this.codehost.openPullRequest(...args);
  }

  closePullRequest(pull: FakePull): void {
    this.codehost.closePullRequest(pull);
  }

  private get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method = '', url: path = '', headers } = request;
    const call: TrackerCall = { method, path, headers, body: text === '' ? undefined : JSON.parse(text) };
    this.calls.push(call);
    const mishap = await this.mishap(call);
    if (mishap === 'lost before') return void request.socket.destroy();
    const {
      status,
      body,
      headers: more,
    } = typeof mishap === 'object' ? toTrackerAnswer(mishap) : this.applyRequest(call);
    if (mishap === 'lost after') return void request.socket.destroy();
    const limit = { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': String(5000 - (this.calls.length % 4000)) };
    const reset = { 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 60) };
    // An error response has no rate limit headers. That must not count as a used-up quota.
    const rate = status < 400 ? { ...limit, ...reset } : {};
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...rate, ...more });
    response.end(JSON.stringify(body));
  }

  private applyRequest(call: TrackerCall) {
    const url = new URL(call.path, this.url);
    try {
      const answer = (url.pathname.startsWith('/api/v2/') ? this.tasktracker : this.codehost).answerRequest(call, url);
      if (answer.status === 401) this.faults.push(`${call.method} ${call.path} with a wrong token`);
      return answer;
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      this.faults.push(`${call.method} ${call.path}: ${error.message}`);
      return createAnswer(422, { message: error.message });
    }
  }
}

function toTrackerAnswer({ status, body = { message: 'no' }, headers = {} }: Exclude<Mishap, string | undefined>) {
  return createAnswer(status, body, headers);
}
