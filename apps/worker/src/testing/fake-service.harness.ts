import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject } from '../protocol/command';
import { signText, verifySignature } from '../protocol/signature';

/** JSON of any shape, which tests inspect. */
export type Json = any;

export interface ReceivedRequest {
  method: string;
  path: string;
  body: Json;
  text: string;
  headers: IncomingMessage['headers'];
  status: number;
}
type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang up' | undefined;

export const agentId = '0190a5b4-0000-7000-8000-000000000001';
export const organizationId = '0190a5b4-0000-7000-8000-0000000000aa';

/** A fake service for a worker. It checks keys, signatures and schemas, stores the requests, and fails on demand. */
export class FakeService {
  readonly requests: ReceivedRequest[] = [];
  readonly faults: string[] = [];
  readonly pending: Record<string, unknown>[] = [];
  readonly uploads = new Map<string, Buffer>();
  /** Path in `files` of the file that a command may download, by command id. */
  readonly downloads = new Map<string, string>();
  /** Digest that the service states for the file of a command, by command id. */
  readonly digests = new Map<string, string>();
  /** Files that are served, by path. */
  readonly files = new Map<string, Buffer>();
  signingSecret = 'signing-secret-of-the-organization';
  apiKeys = ['msk_testworker_0123456789abcdef'];
  /** Status with which an invalid key is refused; 401 by default. */
  refusals: Record<string, number> = {};
  heartbeatSeconds = 0.2;
  abandon: string[] = [];
  /** Called first for every request; a reply that it returns is the answer. */
  interfere: (request: { method: string; path: string; body: Json; count: number }) => Reply = () => undefined;
  /** Returns the store's status for an upload. */
  refuse: (key: string) => number | 'hang up' = () => 200;
  private readonly server: Server;
  private waiting: (() => void)[] = [];

  private constructor() {
    this.server = createServer((request, response) => {
      void this.answerRequest(request).then((reply) => {
        if (reply === 'hang up' || !reply) return response.destroy();
        const file = this.files.get(request.url!);
        if (file) return response.end(file);
        response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
        response.end(JSON.stringify(reply.body ?? {}));
      });
    });
  }

  static async start(): Promise<FakeService> {
    const service = new FakeService();
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close').catch(() => undefined);
  }

  /** Waits for a condition, which is checked after every request. */
  async waitUntil<T>(description: string, condition: () => T | undefined | null | false): Promise<T> {
    const until = Date.now() + 45_000;
    for (;;) {
      const found = condition();
      if (found) return found;
      if (Date.now() > until) throw new Error(`timed out waiting for ${description}\n${this.describeLastRequests()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  private describeLastRequests(): string {
    const recent = this.requests.filter(({ path }) => path !== '/api/agent/heartbeat').slice(-20);
    return recent
      .map(({ method, path, status, text }) => `${method} ${path} ${status} ${text.slice(0, 200)}`)
      .join('\n');
  }

  listAccepted(path: string | RegExp): ReceivedRequest[] {
    return this.requests.filter(
      (h) => h.status < 300 && (typeof path === 'string' ? h.path === path : path.test(h.path)),
    );
  }

  /** Returns the logs of a job as the service stores them: one entry for each sequence number. */
  listLogs(jobId: string): Json[] {
    const all = this.listAccepted('/api/job-logs').flatMap((h) => h.body.logs as Json[]);
    const bySeq = new Map(all.filter((log) => log.jobId === jobId).map((log) => [log.seq, log]));
    return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
  }

  listWebhooks(jobId: string): Json[] {
    return this.listAccepted('/api/job-webhook')
      .map((h) => h.body)
      .filter((body) => body.jobId === jobId);
  }

  listSteps(jobId: string): Json[] {
    return this.listAccepted(/step-status$/)
      .map((h) => h.body)
      .filter((body) => body.jobId === jobId);
  }

  findTerminalReport(jobId: string): Json {
    return this.listWebhooks(jobId).find(({ status }) => status !== 'running');
  }

  findResult(commandId: string): Json {
    return this.listAccepted(`/api/agents/${agentId}/commands/${commandId}/result`)[0]?.body;
  }

  /** Returns the worker's last handshake if it has made at least `count` handshakes. */
  waitForHandshake(count = 1): ReceivedRequest | undefined {
    const all = this.listAccepted('/api/agents/handshake');
    return all.length >= count ? all.at(-1) : undefined;
  }

  async pushCommand(command: object, headers?: Record<string, string>): Promise<number> {
    const { body } = await this.waitUntil('a handshake', () => this.waitForHandshake());
    const text = JSON.stringify(command);
    const response = await fetch(`${body.tunnelHostname}/commands`, {
      method: 'POST',
      body: text,
      // Opens a new connection, because the worker may close an idle connection just when it is used again.
      headers: {
        connection: 'close',
        ...(headers ?? { 'x-service-signature': signText(this.signingSecret, text, Date.now()) }),
      },
    });
    return response.status;
  }

  private async answerRequest(request: IncomingMessage): Promise<Reply> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const [path] = request.url!.split('?');
    const text = bytes.toString();
    if (path!.startsWith('/store/')) {
      if (request.headers['x-api-key']) this.faults.push('the store was sent the worker key');
      const status = this.refuse(path!.slice('/store/'.length));
      if (status === 'hang up') return status;
      if (status === 200) this.uploads.set(path!.slice('/store/'.length), bytes);
      return { status };
    }
    const body = text ? (JSON.parse(text) as Json) : undefined;
    const method = request.method!;
    const count = this.requests.filter((h) => h.path === path).length + 1;
    const received: ReceivedRequest = { method, path: path!, body, text, headers: request.headers, status: 0 };
    this.requests.push(received);
    const reply = this.interfere({ method, path: path!, body, count }) ?? this.buildRegularReply(received);
    received.status = reply === 'hang up' ? 599 : (reply?.status ?? 599);
    const waiting = this.waiting;
    this.waiting = [];
    waiting.forEach((wake) => wake());
    return reply;
  }

  private buildRegularReply({ method, path, body, text, headers }: ReceivedRequest): Reply {
    const key = String(headers['x-api-key']);
    if (!this.apiKeys.includes(key)) return { status: this.refusals[key] ?? 401 };
    const commands = `/api/agents/${agentId}/commands`;
    if (path === '/api/agents/handshake') {
      this.recordFaultUnless(
        body.agentId === agentId && typeof body.bootId === 'string' && body.workerVersion,
        'handshake',
      );
      const { heartbeatSeconds, signingSecret } = this;
      return { status: 200, body: { agentId, organizationId, status: 'online', heartbeatSeconds, signingSecret } };
    }
    if (path === '/api/agent/heartbeat') {
      this.recordFaultUnless(
        Array.isArray(body.runningJobIds) && body.vmState === 'running' && body.metrics.load1 >= 0,
        'heartbeat',
      );
      const abandon = this.abandon.filter((id) => body.runningJobIds.includes(id));
      const serverTime = new Date().toISOString();
      return { status: 200, body: { status: 'online', serverTime, pendingCommands: this.pending.length, abandon } };
    }
    if (path === commands && method === 'GET') return { status: 200, body: { commands: this.pending } };
    if (path.startsWith(commands) && path.endsWith('/uploads')) return this.buildUploadUrls(body);
    if (path.startsWith(commands) && path.endsWith('/progress')) {
      this.recordFaultUnless(body.done <= body.total && body.failed <= body.done, 'progress');
      return { status: 200, body: { accepted: true } };
    }
    if (path.startsWith(commands)) {
      const id = path.slice(commands.length + 1).split('/')[0];
      const at = this.pending.findIndex((command) => command.commandId === id);
      if (at !== -1) this.pending.splice(at, 1);
      return { status: 200, body: { accepted: true } };
    }
    if (path === '/api/job-logs') this.checkLogs(body);
    else if (path === '/api/job-webhook')
      this.recordFaultUnless(typeof body.jobId === 'string' && body.seq > 0, 'job-webhook');
    else if (path.endsWith('/step-status')) {
      this.recordFaultUnless(
        body.stepOrder > 0 && body.seq > 0 && ['running', 'passed', 'failed'].includes(body.status),
        'step',
      );
    } else if (path.endsWith('/claim-results')) {
      const signed = `${path.split('/')[3]}.${text}`;
      const header = String(headers['x-service-signature']);
      if (!verifySignature(this.signingSecret, header, signed, Date.now())) return { status: 401 };
      this.recordFaultUnless(body.claimResults.length >= 1 && body.claimResults.length <= 100, 'claims');
    } else if (path.endsWith('/uploads')) {
      const key = randomUUID();
      const answer = { key, uploadUrl: `${this.url}/store/${key}`, method: 'PUT', headers: { 'content-type': 'x/y' } };
      return { status: 200, body: answer };
    } else if (path.endsWith('/downloads')) {
      const file = this.downloads.get(body.commandId);
      const digest = this.digests.get(body.commandId);
      return file ? { status: 200, body: { downloadUrl: `${this.url}${file}`, digest } } : { status: 404 };
    } else if (path === '/api/pilot/run-summary') {
      const { batchSummary, claimResults, stopEvents } = body;
      this.recordFaultUnless(
        batchSummary.batchId && Array.isArray(claimResults) && Array.isArray(stopEvents),
        'run summary',
      );
      return { status: 201, body: { success: true, batchId: batchSummary.batchId } };
    } else return { status: 404 };
    return { status: 200, body: { accepted: true } };
  }

  /** Returns upload URLs for the files of an imaging command, by their names in the command. */
  private buildUploadUrls({ objects }: Json): Reply {
    this.recordFaultUnless(objects.length >= 1 && objects.length <= 100, 'size of uploads');
    const uploads = (objects as Json[]).map(({ name, ordinal, size }) => {
      this.recordFaultUnless(size > 0, 'size of an upload');
      const key = `${ordinal ?? 'all'}-${name}`;
      const uploadUrl = `${this.url}/store/${key}`;
      return { name, ordinal, key, uploadUrl, method: 'PUT', headers: { 'content-type': 'image/jpeg' } };
    });
    return { status: 201, body: { uploads, expiresAt: new Date(Date.now() + 900_000).toISOString() } };
  }

  private checkLogs(body: Json): void {
    const logs = body.logs as Json[];
    this.recordFaultUnless(
      logs.length >= 1 && logs.length <= 1000 && JSON.stringify(body).length <= 1024 * 1024,
      'size of logs',
    );
    for (const log of logs) {
      const right = isObject(log) && Number.isInteger(log.timestamp) && typeof log.message === 'string' && log.message;
      this.recordFaultUnless(
        right && ['debug', 'info', 'warn', 'error'].includes(String(log.level)),
        `log ${JSON.stringify(log)}`,
      );
    }
  }

  private recordFaultUnless(right: unknown, subject: string): void {
    if (!right) this.faults.push(subject);
  }
}
