import { Body, Controller, Get, HttpException, Module, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { AppError, TextField } from '@muster/contracts';
import { HttpClient, loadTestConfig, waitFor } from '@muster/testing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { type App, createApp } from './create-app';
import { getUnparsedBody } from './http/http-app';
import { OpenStreams } from './http/streams';
import { IgnoreUnknownFields } from '@muster/contracts';

class StrictBody {
  @TextField() name!: string;
}

@IgnoreUnknownFields()
class CallbackBody {
  @TextField() name!: string;
}

/** Finishes the slow request in progress, if there is one. */
let release: (() => void) | undefined;

@Controller('/api')
class Routes {
  constructor(private readonly streams: OpenStreams) {}

  @Get('/hang')
  hang(): Promise<never> {
    return new Promise(() => undefined);
  }

  @Get('/slow')
  async slow(): Promise<object> {
    await new Promise<void>((resolve) => (release = resolve));
    return { done: true };
  }

  @Get('/bug')
  bug(): never {
    throw new TypeError('the inside of things at 10.0.0.1');
  }

  @Get('/teapot')
  teapot(): never {
    throw new HttpException('short and stout', 418);
  }

  @Get('/known')
  known(): never {
    throw new AppError('agent_not_ready', {
      detail: 'It sleeps.',
      extra: { state: 'stopped' },
      headers: { 'x-extra': '1' },
    });
  }

  @Post('/strict')
  strict(@Body() body: StrictBody): object {
    return body;
  }

  @Post('/callback')
  callback(@Body() body: CallbackBody): object {
    return body;
  }

  @Post('/signed')
  @RouteConfig({ unparsed: true })
  signed(@Req() request: FastifyRequest): object {
    return { raw: getUnparsedBody(request).bytes.toString() };
  }

  @Get('/stream')
  @RouteConfig({ noTimeout: true })
  stream(@Res() reply: FastifyReply): void {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write(': open\n\n');
    const forget = this.streams.addStream(() => reply.raw.end());
    reply.raw.on('close', forget);
  }
}

@Module({ controllers: [Routes] })
class TestModule {}

describe('an app', () => {
  let app: App;
  let http: HttpClient;
  const logs: string[] = [];

  beforeEach(async () => {
    logs.length = 0;
    const config = loadTestConfig('postgres://nobody@127.0.0.1:1/none', { REQUEST_TIMEOUT_MS: '300' });
    const logDestination = new Writable({ write: (chunk, _encoding, done) => (logs.push(String(chunk)), done()) });
    app = await createApp({ name: 'gateway', configs: [config], modules: [TestModule], logDestination });
    await app.nest.listen(0, '127.0.0.1');
    http = new HttpClient((await app.nest.getUrl()).replace('[::1]', '127.0.0.1'));
  });
  afterEach(() => app.close());

  it('an app answers 503 if a handler does not answer in time, and handles the next request', async () => {
    const answer = await http.get('/api/hang');
    expect([answer.status, answer.body.code]).toEqual([503, 'request_timeout']);
    expect((await http.post('/api/strict', { name: 'a' })).status).toBe(200 + 1);
  });

  /** Sends the bytes unchanged and returns everything that is received until the connection closes. */
  async function sendRaw(text: string): Promise<string> {
    const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
    socket.write(text);
    let received = '';
    for await (const chunk of socket) received += String(chunk);
    return received;
  }

  it('an app rejects a request with two Host headers', async () => {
    const answer = await sendRaw('GET /api/known HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('exactly one Host header');
  });

  it.each([
    ['an unknown method', 'BREW /api/known HTTP/1.1\r\nHost: a\r\n\r\n', /cannot read this as an HTTP request/],
    ['headers of 20 KB', `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, /more than 16 KiB/],
  ])('an app answers %s with a problem, and says that it closes the connection', async (_, bytes, detail) => {
    const [head, body] = (await sendRaw(bytes)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(head).toMatch(/\r\nconnection: close(\r\n|$)/);
    expect(head).toContain('content-type: application/problem+json');
    expect(head).toContain('x-content-type-options: nosniff');
    const problem = JSON.parse(body!);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_payload', requestId: expect.any(String) });
    expect(problem.detail).toMatch(detail);
  });

  it('an app closes the connection if a body does not arrive in time', async () => {
    const head = 'POST /api/strict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n';
    const answer = await sendRaw(`${head}{"na`);
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  });

  describe('the headers of every response', () => {
    const about = ({ headers }: { headers: Headers }) => ({
      sniffing: headers.get('x-content-type-options'),
      framing: [headers.get('x-frame-options'), /frame-ancestors 'none'/.test(headers.get('content-security-policy')!)],
      running: /default-src 'none'/.test(headers.get('content-security-policy')!),
      referrer: headers.get('referrer-policy'),
      transport: headers.get('strict-transport-security'),
    });
    const careful = {
      sniffing: 'nosniff',
      framing: ['DENY', true],
      running: true,
      referrer: 'same-origin',
      transport: null as string | null,
    };

    it.each(['/api/known', '/api/bug', '/api/teapot', '/nowhere', '/api/%ff', '/api/known?token=1', '/api/hang'])(
      'the response of %s forbids browsers to guess its type, frame it or run its scripts',
      async (path) => expect(about(await http.get(path))).toEqual(careful),
    );

    it('responses require https if the public URL is https', async () => {
      const config = loadTestConfig('postgres://nobody@127.0.0.1:1/none', { PUBLIC_APP_URL: 'https://muster.test' });
      const secure = await createApp({ name: 'gateway', configs: [config], modules: [TestModule] });
      try {
        await secure.nest.listen(0, '127.0.0.1');
        const client = new HttpClient((await secure.nest.getUrl()).replace('[::1]', '127.0.0.1'));
        const transport = 'max-age=31536000';
        expect(about(await client.get('/api/known'))).toEqual({ ...careful, transport });
        expect(about(await client.get('/nowhere'))).toEqual({ ...careful, transport });
      } finally {
        await secure.close();
      }
    });
  });

  it('an app hides the details of an unexpected error from the client and logs them', async () => {
    const answer = await http.get('/api/bug');
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toMatch(/inside|TypeError|create-app/);
    expect(logs.join('')).toContain('the inside of things');
    expect(logs.join('')).toContain(answer.body.requestId);
  });

  it('an app adds the extra fields and headers of an error to the response, and answers an unknown status with 500', async () => {
    const answer = await http.get('/api/known');
    expect([answer.status, answer.body.state, answer.headers.get('x-extra')]).toEqual([409, 'stopped', '1']);
    expect((await http.get('/api/teapot')).status).toBe(500);
  });

  it('an app rejects unknown fields, but not in callbacks', async () => {
    const body = { name: 'a', newer: true };
    expect((await http.post('/api/strict', body)).status).toBe(400);
    const answer = await http.post('/api/callback', body);
    expect([answer.status, answer.body]).toEqual([201, { name: 'a' }]);
  });

  it('an app passes the exact bytes of a signed body to the handler', async () => {
    const body = '{ "a" : 1.0,\n"b":"\\u00fc" }';
    expect((await http.post('/api/signed', body)).body.raw).toBe(body);
  });

  it('an app ends its streams when it closes, and still answers a request in progress', async () => {
    const stream = await fetch(`${http.url}/api/stream`);
    await waitFor('the stream to be counted', () => app.streams.countOpen === 1);
    const slow = http.get('/api/slow');
    await waitFor('the request to be in progress', () => release);
    const closing = app.close();
    expect(await stream.text()).toBe(': open\n\n');
    expect(app.readiness.isDraining).toBe(true);
    release!();
    const answer = await slow;
    expect(answer.body).toEqual({ done: true });
    // The response closes the connection. Without that, the app would wait until the client closes it.
    expect(answer.headers.get('connection')).toBe('close');
    await closing;
  });

  it('an app that closes still answers a request that arrives on an open connection', async () => {
    const { hostname, port } = new URL(http.url);
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    const isEnded = new Promise((resolve) => socket.on('end', resolve));
    // The first line keeps the connection from being idle. Closing waits for it, and ends idle connections.
    socket.write('POST /api/callback HTTP/1.1\r\n');
    await http.get('/api/known');
    const closing = app.close();
    await waitFor('the app to accept no connections', () => !app.nest.getHttpServer().listening);
    const body = '{"name":"a"}';
    socket.write(`host: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await isEnded;
    expect(received).toMatch(/^HTTP\/1.1 201 .*connection: close.*\{"name":"a"\}$/is);
    await closing;
  });
});
