import { findOwnerApp, type ServiceApp } from '@muster/contracts';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as ask,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { createSeededRandom } from '../seed';

type Random = ReturnType<typeof createSeededRandom>;

interface Message {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}
interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}
/** The moment before a message to this path is forwarded, or before the response to it is returned. */
export interface Boundary {
  path: RegExp;
  side: 'before' | 'after';
  /** If set, the boundary is reached only by messages with this key. */
  key?: string;
}
type Fate = 'plain' | 'delayed' | 'dropped' | 'answer lost' | 'doubled' | 'late' | 'repeated later';

const replaySampleSize = 3000;

/**
 * The network between workers and service: one address that routes to the apps by path, and the workers' tunnels. It
 * delays, duplicates and drops messages, drops responses, and delivers some messages much later.
 */
export class ChaosNetwork {
  readonly counts = {
    callbacks: 0,
    pushes: 0,
    delayed: 0,
    dropped: 0,
    answersLost: 0,
    doubled: 0,
    late: 0,
    replayed: 0,
  };
  /** Responses with a status of 500 or more, each as its request, status and body. */
  readonly serverErrors: string[] = [];
  /** URLs of the processes of each app. Each request is sent to the next process of its app. */
  readonly apps = new Map<ServiceApp, string[]>();
  /** Whether the network delivers every message once, in order and unchanged. */
  isCalm = false;
  private readonly traps = new Set<{ at: Boundary; spring: () => void }>();
  private readonly inProgress = new Set<Promise<unknown>>();
  private readonly remembered: Message[] = [];
  private callbackCount = 0;
  private requestCount = 0;
  private readonly server: Server;

  private constructor(private readonly random: Random) {
    this.server = createServer({ requestTimeout: 0 }, (request, response) => {
      this.forwardRequest(request, response).catch(() => response.destroy());
    });
  }

  static async start(random: Random): Promise<ChaosNetwork> {
    const network = new ChaosNetwork(random);
    await new Promise<void>((resolve) => network.server.listen(0, '127.0.0.1', resolve));
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  createTunnelUrl(port: number): string {
    return `${this.url}/tunnel/${port}`;
  }

  /** Calls `then` when the next such message passes. Returns a function that cancels this. */
  onNextMessage(at: Boundary, then: () => void): () => void {
    const trap = {
      at,
      spring: () => {
        this.traps.delete(trap);
        then();
      },
    };
    this.traps.add(trap);
    return () => this.traps.delete(trap);
  }

  /** Resolves when all late and duplicate messages have been delivered. */
  async waitUntilIdle(): Promise<void> {
    while (this.inProgress.size > 0) await Promise.all(this.inProgress);
  }

  /** Sends a sample of the run's callbacks again, in random order. Returns the number of responses by status. */
  async replayCallbacks(): Promise<Map<number, number>> {
    const statuses = new Map<number, number>();
    const waiting = [...this.remembered];
    for (let at = waiting.length - 1; at > 0; at -= 1) {
      const other = this.random.between(0, at);
      [waiting[at], waiting[other]] = [waiting[other]!, waiting[at]!];
    }
    const replayNextCallbacks = async () => {
      for (let message = waiting.pop(); message; message = waiting.pop()) {
        const { status } = await this.forwardMessage(message);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        this.counts.replayed += 1;
      }
    };
    await Promise.all(Array.from({ length: 8 }, replayNextCallbacks));
    return statuses;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }

  private async forwardRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = await readMessage(request);
    const isPush = message.url.startsWith('/tunnel/');
    const isCallback = !isPush && findOwnerApp(getPath(message)) === 'ingest';
    if (isPush) this.counts.pushes += 1;
    else if (isCallback) this.counts.callbacks += 1;
    if (isCallback && message.method === 'POST') this.sampleCallbackForReplay(message);
    this.triggerBoundary(message, 'before');
    const fate = (isPush || isCallback) && !this.isCalm ? this.drawMessageFate(message) : 'plain';
    if (fate === 'dropped') {
      this.counts.dropped += 1;
      return void response.destroy();
    }
    if (fate === 'late') {
      this.deliverLate(message);
      return void response.destroy();
    }
    if (fate === 'delayed') {
      this.counts.delayed += 1;
      await sleepMs(this.random.between(5, 300));
    }
    if (fate === 'repeated later') this.deliverLate(message);
    if (fate === 'doubled') {
      this.counts.doubled += 1;
      this.trackWork(this.forwardMessage(message));
    }
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const reply = await this.forwardMessage(message, gone.signal);
    if (reply.status >= 500) {
      this.serverErrors.push(`${message.method} ${message.url}: ${reply.status} ${reply.body.toString()}`);
    }
    this.triggerBoundary(message, 'after');
    if (fate === 'answer lost') {
      this.counts.answersLost += 1;
      return void response.destroy();
    }
    response.writeHead(reply.status, removeHopHeaders(reply.headers)).end(reply.body);
  }

  private drawMessageFate({ method }: Message): Fate {
    const chance = this.random.between(0, 99);
    // A GET request is a long poll for commands. Its request or its response can be lost. It is not duplicated, because
    // a second poll would only wait too.
    if (method === 'GET') return chance < 4 ? 'dropped' : chance < 12 ? 'answer lost' : 'plain';
    if (chance < 6) return 'dropped';
    if (chance < 12) return 'answer lost';
    if (chance < 18) return 'doubled';
    if (chance < 24) return 'late';
    if (chance < 30) return 'repeated later';
    return chance < 45 ? 'delayed' : 'plain';
  }

  /** Delivers the message late, after newer messages. */
  private deliverLate(message: Message): void {
    this.counts.late += 1;
    this.trackWork(sleepMs(this.random.between(100, 3000)).then(() => this.forwardMessage(message)));
  }

  private trackWork(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.inProgress.delete(done));
    this.inProgress.add(done);
  }

  private triggerBoundary(message: Message, side: Boundary['side']): void {
    for (const { at, spring } of this.traps) {
      if (at.side !== side || !at.path.test(getPath(message))) continue;
      if (at.key === undefined || at.key === message.headers['x-api-key']) spring();
    }
  }

  /** Reservoir sampling: each callback of the run is equally likely to be in the sample. */
  private sampleCallbackForReplay(message: Message): void {
    if (/heartbeat|handshake/.test(message.url)) return;
    this.callbackCount += 1;
    if (this.remembered.length < replaySampleSize) this.remembered.push(message);
    else {
      const slot = this.random.between(0, this.callbackCount - 1);
      if (slot < replaySampleSize) this.remembered[slot] = message;
    }
  }

  private chooseNextProcess(app: ServiceApp): string {
    const urls = this.apps.get(app)!;
    this.requestCount += 1;
    return urls[this.requestCount % urls.length]!;
  }

  private forwardMessage(message: Message, gone?: AbortSignal): Promise<Reply> {
    const [, port, tunnelPath] = /^\/tunnel\/(\d+)(\/.*)$/.exec(message.url) ?? [];
    const base = port ? `http://127.0.0.1:${port}` : this.chooseNextProcess(findOwnerApp(getPath(message)));
    const { method, headers, body } = message;
    return new Promise((resolve, reject) => {
      const upstream = ask(
        new URL(tunnelPath ?? message.url, base),
        {
          agent: false,
          method,
          headers: { ...removeHopHeaders(headers), 'content-length': body.length },
          signal: gone,
        },
        (answer) => {
          readMessage(answer).then(({ body: text }) => {
            resolve({ status: answer.statusCode!, headers: answer.headers, body: text });
          }, reject);
        },
      );
      upstream.on('error', reject);
      upstream.end(body);
    });
  }
}

async function readMessage(from: IncomingMessage): Promise<Message> {
  const pieces: Buffer[] = [];
  for await (const piece of from as AsyncIterable<Buffer>) pieces.push(piece);
  const { method = 'GET', url = '/', headers } = from;
  return { method, url, headers, body: Buffer.concat(pieces) };
}

function getPath({ url }: Message): string {
  return url.split('?')[0]!;
}

function removeHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, expect: ____, ...others } = headers;
  return others;
}

function sleepMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
