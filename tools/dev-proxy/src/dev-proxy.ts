import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as ask,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { findOwnerApp, type ServiceApp } from '@muster/contracts';

export interface DevProxyOptions {
  port: number;
  /** URL of each app, such as `http://127.0.0.1:4001`. */
  apps: Record<ServiceApp, string>;
}

export interface DevProxy {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts one origin in front of the six apps, with the same routing table as the ingress. Request and response bodies
 * are streamed.
 */
export async function startDevProxy({ port, apps }: DevProxyOptions): Promise<DevProxy> {
  // No timeout here: each app limits the duration of its requests itself.
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const app = findOwnerApp(getRequestPath(request));
    forwardRequest(request, response, { app, target: new URL(apps[app]) });
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

function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { app, target }: { app: string; target: URL },
) {
  const upstream = ask({
    // A new connection for each request: a kept connection may lead to a process that has been restarted since.
    agent: false,
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers: buildRequestHeaders(request),
  });
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode!, answer.statusMessage, removeHopHeaders(answer.headers));
    // Sends the response headers of an event stream before its first event.
    response.flushHeaders();
    pipeline(answer, response, () => undefined);
  });
  upstream.on('error', (error) => {
    if (response.headersSent || response.destroyed) response.destroy();
    else
      sendBadGateway(
        request,
        response,
        `${app} does not answer on ${target.host} (${error.message}). Is it running under nx serve?`,
      );
  });
  response.on('close', () => upstream.destroy());
  pipeline(request, upstream, () => undefined);
}

function buildRequestHeaders(request: IncomingMessage): IncomingHttpHeaders {
  const client = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  const { expect: _answeredHere, ...headers } = removeHopHeaders(request.headers);
  return {
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], client].filter(Boolean).join(', '),
    'x-forwarded-proto': 'http',
    'x-forwarded-host': request.headers.host,
  };
}

const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

function removeHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && !named.includes(name)),
  );
}

function sendBadGateway(request: IncomingMessage, response: ServerResponse, detail: string): void {
  const problem = {
    type: 'https://muster.dev/errors/bad_gateway',
    title: 'Bad gateway',
    status: 502,
    detail,
    code: 'bad_gateway',
    instance: getRequestPath(request),
    requestId: request.headers['x-request-id'],
  };
  // The request body was not read completely, so the connection cannot be reused.
  response.writeHead(502, { 'content-type': 'application/problem+json; charset=utf-8', connection: 'close' });
  response.end(JSON.stringify(problem));
}

/** `OPTIONS *` has no path; the gateway answers it. */
function getRequestPath({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') ? url.split('?')[0]! : '/';
}
