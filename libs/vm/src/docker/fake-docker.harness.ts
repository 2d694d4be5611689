import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';

export interface FakeContainer {
  id: string;
  status: 'created' | 'running' | 'exited' | 'paused' | 'restarting' | 'removing' | 'dead';
  boots: string[];
  labels: Record<string, string>;
}

/**
 * Simulates a Docker Engine's HTTP API over a Unix socket or TCP, as its reference describes it: versioned paths, JSON
 * errors, 304 for a state that is already reached, filters, and refusal of unsupported versions.
 */
export class FakeDocker {
  readonly containers = new Map<string, FakeContainer>();
  readonly calls: string[] = [];
  apiVersion = '1.47';
  minApiVersion = '1.24';
  /** Milliseconds that a container takes to end after a stop. */
  endMs = 0;
  interfere?: (response: ServerResponse, path: string) => boolean;
  private boots = 0;
  private folder?: string;
  private readonly server: Server;

  /** With certificates, the engine uses TLS and accepts only clients with a certificate of the same authority. */
  constructor(tls?: { ca: string; cert: string; key: string }) {
    const answerInBackground = (request: IncomingMessage, response: ServerResponse) =>
      void this.answerRequest(request, response);
    this.server = tls
      ? createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: true }, answerInBackground)
      : createServer(answerInBackground);
  }

  async listenOnSocket(): Promise<string> {
    this.folder = await mkdtemp(join(tmpdir(), 'muster-docker-'));
    const path = join(this.folder, 'docker.sock');
    await new Promise<void>((resolve) => this.server.listen(path, resolve));
    return `unix://${path}`;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `tcp://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    if (this.folder) await rm(this.folder, { recursive: true, force: true });
  }

  addContainer(
    name: string,
    labels: Record<string, string> = {},
    status: FakeContainer['status'] = 'created',
  ): FakeContainer {
    const id = Buffer.from(name).toString('hex').padEnd(64, '0');
    const container = { id, status, boots: [], labels };
    this.containers.set(name, container);
    return container;
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const url = new URL(request.url!, 'http://docker');
    if (this.interfere?.(response, url.pathname)) return;
    if (request.method === 'GET' && url.pathname === '/version') {
      return sendJson(response, 200, {
        ApiVersion: this.apiVersion,
        MinAPIVersion: this.minApiVersion,
        Version: '27.0.0',
      });
    }
    const [, version, path] = /^\/v(\d+\.\d+)(\/.*)$/.exec(url.pathname) ?? [];
    if (!version || !path) return sendJson(response, 404, { message: 'page not found' });
    const parseMinorVersion = (text: string) => Number(text.split('.')[1]);
    if (parseMinorVersion(version) > parseMinorVersion(this.apiVersion)) {
      return sendJson(response, 400, {
        message: `client version ${version} is too new. Maximum supported API version is ${this.apiVersion}`,
      });
    }
    if (parseMinorVersion(version) < parseMinorVersion(this.minApiVersion)) {
      return sendJson(response, 400, {
        message: `client version ${version} is too old. Minimum supported API version is ${this.minApiVersion}`,
      });
    }
    this.calls.push(`${request.method} ${path}${url.search}`);
    if (request.method === 'GET' && path === '/containers/json') return this.listContainers(response, url.searchParams);
    return this.answerContainerRequest(request.method!, path, url.searchParams, response);
  }

  private async answerContainerRequest(
    method: string,
    path: string,
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const [, name = '', order] = /^\/containers\/([\w.-]+)(?:\/(json|start|stop|restart))?$/.exec(path) ?? [];
    const found = this.findContainer(name);
    if (!found) return sendJson(response, 404, { message: `No such container: ${name}` });
    const [fullName, container] = found;
    if (method === 'GET' && order === 'json')
      return sendJson(response, 200, this.describeContainer(fullName, container));
    if (method === 'DELETE' && !order) {
      if (container.status === 'running' && query.get('force') !== 'true') {
        return sendJson(response, 409, { message: `cannot remove container "/${fullName}": container is running` });
      }
      this.containers.delete(fullName);
      return sendEmptyResponse(response, 204);
    }
    if (method !== 'POST' || !order || order === 'json') return sendJson(response, 404, { message: 'page not found' });
    if (container.status === 'paused' && order === 'start') {
      return sendJson(response, 409, { message: 'cannot start a paused container, try unpause instead' });
    }
    if (order === 'start') {
      if (container.status === 'running') return sendEmptyResponse(response, 304);
      this.bootContainer(container);
      return sendEmptyResponse(response, 204);
    }
    if (!/^\d+$/.test(query.get('t') ?? '')) return sendJson(response, 400, { message: 'invalid value for t' });
    if (order === 'stop' && container.status !== 'running') return sendEmptyResponse(response, 304);
    // Real engines kill a container that has not ended after the grace period, and so does this fake.
    await new Promise((resolve) => setTimeout(resolve, Math.min(this.endMs, Number(query.get('t')) * 1000)));
    container.status = 'exited';
    if (order === 'restart') this.bootContainer(container);
    return sendEmptyResponse(response, 204);
  }

  private findContainer(name: string): [string, FakeContainer] | undefined {
    return [...this.containers].find(
      ([fullName, { id }]) => fullName === name || (name.length >= 8 && id.startsWith(name)),
    );
  }

  private describeContainer(name: string, { id, status, labels }: FakeContainer) {
    return {
      Id: id,
      Name: `/${name}`,
      State: { Status: status, Running: status === 'running', Paused: false, Restarting: false, Dead: false },
      Config: { Image: 'worker:1', Labels: labels },
      NetworkSettings: { Networks: { bridge: { IPAddress: status === 'running' ? '172.17.0.2' : '' } } },
    };
  }

  private listContainers(response: ServerResponse, query: URLSearchParams): void {
    const filters = JSON.parse(query.get('filters') ?? '{}') as { label?: string[] };
    const listed = [...this.containers].filter(
      ([, { labels, status }]) =>
        (query.get('all') === 'true' || status === 'running') && (filters.label ?? []).every((key) => key in labels),
    );
    sendJson(
      response,
      200,
      listed.map(([name, { id, status, labels }]) => ({ Id: id, Names: [`/${name}`], State: status, Labels: labels })),
    );
  }

  private bootContainer(container: FakeContainer): void {
    container.status = 'running';
    container.boots.push(`boot ${(this.boots += 1)}`);
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendEmptyResponse(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}
