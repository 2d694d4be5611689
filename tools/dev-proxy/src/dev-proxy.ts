import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as ask,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { ownerOf, type ServiceApp } from '@muster/contracts';

export interface DevProxyOptions {
  port: number;
  /** Where each app listens, such as `http://127.0.0.1:4001`. */
  apps: Record<ServiceApp, string>;
}

export interface DevProxy {
  url: string;
  close(): Promise<void>;
}

/** One origin in front of the six apps, by the same table as the ingress. Bodies pass through as they come, both ways. */
export async function startDevProxy({ port, apps }: DevProxyOptions): Promise<DevProxy> {
  // How long a request may take is the app's to say.
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const app = ownerOf(pathOf(request));
    forward(request, response, { app, target: new URL(apps[app]) });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function forward(request: IncomingMessage, response: ServerResponse, { app, target }: { app: string; target: URL }) {
  const upstream = ask({
    // A connection of its own each time: one that was kept may lead to a process that has been restarted since.
    agent: false,
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers: requestHeaders(request),
  });
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode!, answer.statusMessage, endToEnd(answer.headers));
    // An event stream's head goes out before its first event.
    response.flushHeaders();
    pipeline(answer, response, () => undefined);
  });
  upstream.on('error', (error) => {
    if (response.headersSent || response.destroyed) response.destroy();
    else refuse(request, response, `${app} does not answer on ${target.host} (${error.message}). Is it being served?`);
  });
  response.on('close', () => upstream.destroy());
  pipeline(request, upstream, () => undefined);
}

function requestHeaders(request: IncomingMessage): IncomingHttpHeaders {
  const client = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  const { expect: _answeredHere, ...headers } = endToEnd(request.headers);
  return {
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], client].filter(Boolean).join(', '),
    'x-forwarded-proto': 'http',
    'x-forwarded-host': request.headers.host,
  };
}

const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && !named.includes(name)),
  );
}

function refuse(request: IncomingMessage, response: ServerResponse, detail: string): void {
  const problem = {
    type: 'https://muster.dev/errors/bad_gateway',
    title: 'Bad gateway',
    status: 502,
    detail,
    code: 'bad_gateway',
    instance: pathOf(request),
    requestId: request.headers['x-request-id'],
  };
  // Its body was not read to the end, so the connection cannot be used again.
  response.writeHead(502, { 'content-type': 'application/problem+json; charset=utf-8', connection: 'close' });
  response.end(JSON.stringify(problem));
}

/** `OPTIONS *` has none; the gateway answers it. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') ? url.split('?')[0]! : '/';
}
