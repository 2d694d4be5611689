import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Result {
  status: string;
  output?: { images?: { width?: number }[] };
}

interface UploadRequest {
  objects: { name: string; ordinal: number }[];
}

/** A minimal service and object store for a worker that converts images. Uploads are counted and discarded. */
export class ImagingService {
  readonly agentId = randomUUID();
  url = '';
  /** Number of uploaded objects. */
  uploadCount = 0;
  private readonly server: Server;
  private command: object | null = null;
  private wake: () => void = () => undefined;
  private onHandshake: () => void = () => undefined;
  private readonly handshakeReceived = new Promise<void>((resolve) => (this.onHandshake = resolve));
  private result: (result: Result) => void = () => undefined;

  private constructor() {
    this.server = createServer((request, response) => void this.answerRequest(request, response));
  }

  static async start(): Promise<ImagingService> {
    const service = new ImagingService();
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    service.url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`;
    return service;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  waitForHandshake(): Promise<void> {
    return this.handshakeReceived;
  }

  runImaging(commandId: string, payload: object): Promise<Result> {
    const deadline = new Date(Date.now() + 900_000).toISOString();
    this.command = { commandId, kind: 'imaging_images', agentId: this.agentId, deadline, env: {}, payload };
    this.wake();
    this.wake = () => undefined;
    return new Promise((resolve) => (this.result = resolve));
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?')[0]!;
    if (request.method === 'PUT') {
      request.resume();
      await once(request, 'end');
      this.uploadCount += 1;
      return void response.end();
    }
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    const body = await this.buildAnswerBody(request.method!, path, text);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  private async buildAnswerBody(method: string, path: string, text: string): Promise<object> {
    const { agentId } = this;
    if (path === '/api/agents/handshake') {
      this.onHandshake();
      return { agentId, organizationId: agentId, status: 'online', heartbeatSeconds: 15, signingSecret: 'bench' };
    }
    if (path === '/api/agent/heartbeat') return { status: 'online', pendingCommands: 0, abandon: [] };
    if (method === 'GET') return { commands: await this.waitForCommand() };
    // The command is delivered again until the worker acknowledges it.
    this.command = null;
    if (path.endsWith('/uploads')) {
      const uploads = (JSON.parse(text) as UploadRequest).objects.map(({ name, ordinal }) => {
        const key = `${ordinal}-${name}`;
        return { name, ordinal, key, uploadUrl: `${this.url}/store/${key}`, method: 'PUT', headers: {} };
      });
      return { uploads };
    }
    if (path.endsWith('/result')) this.result(JSON.parse(text) as Result);
    return { accepted: true };
  }

  private async waitForCommand(): Promise<object[]> {
    if (!this.command) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, 20_000).unref();
      });
    }
    return this.command ? [this.command] : [];
  }
}
