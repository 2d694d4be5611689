import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@muster/testing';
import { Webhook } from 'standardwebhooks';

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  event: { type: string; timestamp: string; data: any };
  at: number;
}

type Answer = (response: ServerResponse, received: Received, request: IncomingMessage) => void;

/** A customer's webhook receiver: a real HTTP server that records requests and answers as the test specifies. */
export class Receiver {
  readonly received: Received[] = [];
  /** Answers by path; 204 if a path has none. */
  readonly answers = new Map<string, Answer>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Receiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => receiver.recordRequest(request, response, Buffer.concat(chunks).toString()));
    });
    const receiver = new Receiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  listReceivedAt(path: string): Received[] {
    return this.received.filter((each) => each.path === path);
  }

  /** Waits for this number of requests to a path, and returns them. */
  async waitForDeliveries(path: string, count = 1, timeoutMs?: number): Promise<Received[]> {
    return waitFor(
      `${count} at ${path}`,
      () => (this.listReceivedAt(path).length >= count ? this.listReceivedAt(path) : null),
      timeoutMs,
    );
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private recordRequest(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname: path } = new URL(request.url!, this.url);
    const headers = request.headers as Record<string, string>;
    const received: Received = { path, headers, body, event: JSON.parse(body) as Received['event'], at: Date.now() };
    this.received.push(received);
    const answer = this.answers.get(path);
    if (answer) answer(response, received, request);
    else response.writeHead(204).end();
  }
}

/** Verifies a request with the published package, as a receiver would; throws if another secret has signed it. */
export function verifySignature(secret: string, { body, headers }: Received): unknown {
  return new Webhook(secret).verify(body, headers);
}
