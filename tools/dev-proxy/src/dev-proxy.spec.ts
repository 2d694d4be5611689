import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pathOwners, type ServiceApp, serviceApps } from '@muster/contracts';
import { type DevProxy, startDevProxy } from './dev-proxy';

describe('the development proxy', () => {
  const servers = new Map<ServiceApp, Server>();
  let answer: RequestListener;
  let proxy: DevProxy;

  beforeAll(async () => {
    const apps: Partial<Record<ServiceApp, string>> = {};
    for (const app of serviceApps) {
      const server = createServer((incoming, response) => {
        response.setHeader('x-app', app);
        answer(incoming, response);
      });
      servers.set(app, server);
      apps[app] = await listenOnPort(server);
    }
    proxy = await startDevProxy({ port: 0, apps: apps as Record<ServiceApp, string> });
  });
  beforeEach(() => {
    answer = (incoming, response) => response.end(`${incoming.method} ${incoming.url}`);
  });
  afterAll(async () => {
    await proxy.close();
    for (const server of servers.values()) await closeServer(server);
  });

  it.each(pathOwners)('the development proxy sends $path to $app', async ({ path, app }) => {
    const url = `${path.replaceAll(/:[a-z]+/gi, '5f0c').replace('*', 'some/thing')}?limit=2&q=a%2Fb`;
    const response = await fetch(proxy.url + url, { method: 'POST' });
    expect(response.headers.get('x-app')).toBe(app);
    expect(await response.text()).toBe(`POST ${url}`);
  });

  it('the development proxy passes on the client’s address and the requested host, and returns responses unchanged', async () => {
    let seen: IncomingMessage['headers'] = {};
    answer = (incoming, response) => {
      seen = incoming.headers;
      response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], location: '/api/users/1' }).end();
    };
    const headers = { cookie: 's=1', 'x-api-key': 'k', 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' };
    const response = await fetch(`${proxy.url}/api/users`, { headers });
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    const host = new URL(proxy.url).host;
    expect(seen).toMatchObject({ cookie: 's=1', 'x-api-key': 'k', host, 'x-forwarded-host': host });
    expect(seen['x-forwarded-for']).toMatch(/^192\.0\.2\.7, (127\.0\.0\.1|::1)$/);
    expect(seen['x-forwarded-proto']).toBe('http');
  });

  it('the development proxy forwards an event stream event by event, and closes it when the reader disconnects', async () => {
    const left = new Promise<void>((resolve) => {
      answer = (_incoming, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        response.on('close', resolve);
        sendNextEvent = (event) => void response.write(`data: ${event}\n\n`);
      };
    });
    let sendNextEvent: (event: string) => void = () => undefined;
    const leave = new AbortController();
    // The response headers arrive before the first event is written.
    const response = await fetch(`${proxy.url}/api/agents/1/stream`, { signal: leave.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const event of ['one', 'two']) {
      sendNextEvent(event);
      expect((await reader.read()).value).toBe(`data: ${event}\n\n`);
    }
    leave.abort();
    await left;
  });

  it('the development proxy forwards a request body while it is still being sent', async () => {
    let reportFirstBytes: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (reportFirstBytes = resolve));
    answer = (incoming, response) => {
      incoming.once('data', reportFirstBytes);
      void text(incoming).then((body) => response.end(body));
    };
    const sending = request(`${proxy.url}/api/job-logs`, { method: 'POST' });
    sending.write('first ');
    await arrived;
    sending.end('last');
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    expect(await text(response)).toBe('first last');
  });

  it('the development proxy aborts a response that the app aborts', async () => {
    answer = (_incoming, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    const response = await fetch(`${proxy.url}/api/users`);
    await expect(response.text()).rejects.toThrow();
  });

  it('the development proxy responds with 502 while an app is down, and forwards again when the app is back', async () => {
    const scheduler = servers.get('scheduler')!;
    const { port } = scheduler.address() as AddressInfo;
    await closeServer(scheduler);
    const response = await fetch(`${proxy.url}/api/cron/tick?x=1`, { method: 'POST', body: 'x'.repeat(1_000_000) });
    expect(response.status).toBe(502);
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await response.json()).toMatchObject({
      status: 502,
      code: 'bad_gateway',
      instance: '/api/cron/tick',
      detail: expect.stringMatching(/^scheduler does not answer/),
    });
    expect((await fetch(`${proxy.url}/api/users`)).status).toBe(200);
    await listenOnPort(scheduler, port);
    expect((await fetch(`${proxy.url}/api/cron/tick`)).status).toBe(200);
  });
});

async function listenOnPort(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closeServer(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
