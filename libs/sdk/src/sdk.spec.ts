import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isMusterError, Muster, verifyWebhook } from './index';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

describe('the SDK', () => {
  let server: Server;
  let baseUrl: string;
  let handlers: Handler[];
  let requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];

  beforeEach(async () => {
    handlers = [];
    requests = [];
    server = createServer((request, response) => {
      void text(request).then((body) => {
        requests.push({ method: request.method!, url: request.url!, headers: request.headers, body });
        (handlers.length > 1 ? handlers.shift()! : handlers[0]!)(request, response, body);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const answerWith =
    (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
    (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
  const breakConnection: Handler = (request) => request.socket.destroy();
  const launch = { workflowId: 'w', agentId: 'a' };

  it('the SDK retries a 429 or 503 at the time of Retry-After, with the same idempotency key', async () => {
    const inASecond = new Date(Date.now() + 1500).toUTCString();
    handlers = [
      answerWith(503, { code: 'service_unavailable' }, { 'retry-after': '0' }),
      answerWith(429, { code: 'rate_limited' }, { 'retry-after': inASecond }),
      answerWith(202, { jobId: 'j', status: 'queued' }),
    ];
    const muster = new Muster({ baseUrl, apiKey: 'msk_1' });
    expect(await muster.jobs.launch(launch)).toEqual({ jobId: 'j', status: 'queued' });
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(3).fill('POST /api/jobs/launch'));
    expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(requests.map(({ body }) => JSON.parse(body))).toEqual(Array(3).fill(launch));
    expect(requests[2]!.headers['x-api-key']).toBe('msk_1');
  });

  it('only creating calls have an idempotency key, which is the caller’s or a random one', async () => {
    handlers = [answerWith(202, { jobId: 'j', status: 'queued' })];
    const muster = new Muster({ baseUrl });
    await muster.jobs.launch(launch);
    await muster.jobs.launch(launch);
    await muster.jobs.launch(launch, { idempotencyKey: 'mine' });
    await muster.jobs.cancel('j');
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.any(String), 'mine', undefined]);
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('the SDK stops retrying after the maximum number of retries, or if Retry-After exceeds the maximum', async () => {
    handlers = [answerWith(429, { code: 'rate_limited' }, { 'retry-after': '3600' })];
    await expect(new Muster({ baseUrl }).usage.get()).rejects.toMatchObject({ code: 'rate_limited', status: 429 });
    expect(requests).toHaveLength(1);
    handlers = [answerWith(503, { code: 'service_unavailable' }, { 'retry-after': '0' })];
    await expect(new Muster({ baseUrl, maxRetries: 2 }).usage.get()).rejects.toMatchObject({ status: 503 });
    expect(requests).toHaveLength(4);
  });

  it('the SDK retries a lost response, but not for a changing call without an idempotency key', async () => {
    handlers = [breakConnection, answerWith(200, { month: '2026-01' })];
    expect(await new Muster({ baseUrl }).usage.get()).toEqual({ month: '2026-01' });
    handlers = [breakConnection, answerWith(202, { jobId: 'j', status: 'queued' })];
    expect((await new Muster({ baseUrl }).jobs.launch(launch)).jobId).toBe('j');
    handlers = [breakConnection];
    const before = requests.length;
    await expect(new Muster({ baseUrl }).jobs.cancel('j')).rejects.toMatchObject({ code: 'unreachable', status: 0 });
    expect(requests).toHaveLength(before + 1);
  });

  it('the SDK retries a partly lost response, or throws unreachable if the call is not safe to repeat', async () => {
    const sendHalfOfBody: Handler = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"month":', () => response.destroy());
    };
    handlers = [sendHalfOfBody, sendHalfOfBody, answerWith(200, { month: '2026-01' })];
    expect(await new Muster({ baseUrl }).usage.get()).toEqual({ month: '2026-01' });
    handlers = [sendHalfOfBody];
    const before = requests.length;
    await expect(new Muster({ baseUrl }).jobs.cancel('j')).rejects.toMatchObject({ code: 'unreachable', status: 0 });
    expect(requests).toHaveLength(before + 1);
    handlers = [sendHalfOfBody, sendHalfOfBody, answerWith(200, { id: 'j', status: 'completed' })];
    expect((await new Muster({ baseUrl, maxRetries: 0 }).jobs.wait('j')).status).toBe('completed');
  });

  it('the SDK throws not_muster if the response is an HTML page', async () => {
    handlers = [(_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>')];
    await expect(new Muster({ baseUrl }).agents.list().toArray()).rejects.toMatchObject({ code: 'not_muster' });
  });

  it('the SDK stops reading a response above the maximum size without a retry', async () => {
    let sent = 0;
    handlers = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const writeWithoutEnd = (): void => {
          while (!response.destroyed && response.write(' '.repeat(64 * 1024))) sent += 64 * 1024;
          if (!response.destroyed) response.once('drain', writeWithoutEnd);
        };
        writeWithoutEnd();
      },
    ];
    const muster = new Muster({ baseUrl, maxResponseBytes: 1024 * 1024 });
    await expect(muster.agents.list().toArray()).rejects.toMatchObject({ code: 'not_muster' });
    expect([requests.length, sent < 64 * 1024 * 1024]).toEqual([1, true]);
  });

  it.each([301, 302, 303, 307, 308])(
    'the SDK sends neither its API key nor the body after a redirect by %d',
    async (status) => {
      const elsewhere = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
      await once(elsewhere, 'listening');
      let calls = 0;
      elsewhere.on('request', () => (calls += 1));
      const target = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
      handlers = [(_, response) => response.writeHead(status, { location: `${target}/api/secrets` }).end()];
      const muster = new Muster({ baseUrl, apiKey: 'msk_1' });
      const refusal = { code: 'redirected', status, message: expect.stringContaining(`redirects to ${target}.`) };
      await expect(muster.jobs.launch(launch)).rejects.toMatchObject(refusal);
      await expect(muster.agents.list().toArray()).rejects.toMatchObject(refusal);
      await expect(muster.agents.events('a').next()).rejects.toMatchObject(refusal);
      expect([requests.length, calls]).toEqual([3, 0]);
      elsewhere.closeAllConnections();
      elsewhere.close();
    },
  );

  it('the SDK throws redirected if the Location header of a redirect is not a valid URL', async () => {
    handlers = [(_, response) => response.writeHead(302, { location: 'http://[' }).end()];
    const refusal = { code: 'redirected', message: expect.stringContaining('redirects to another address.') };
    await expect(new Muster({ baseUrl }).agents.list().toArray()).rejects.toMatchObject(refusal);
  });

  it('the SDK throws the caller’s abort reason before a response, during a response and between retries', async () => {
    const reason = new Error('enough');
    const createOptionsForHandler = (handler: Handler) => {
      const enough = new AbortController();
      handlers = [(...args) => (handler(...args), setTimeout(() => enough.abort(reason), 50))];
      return { signal: enough.signal };
    };
    const muster = new Muster({ baseUrl });
    await expect(
      muster.jobs.get(
        'j',
        createOptionsForHandler(() => undefined),
      ),
    ).rejects.toBe(reason);
    const sendFirstByte: Handler = (_, response) => response.writeHead(200, { 'content-length': '9' }).write('{');
    await expect(muster.jobs.get('j', createOptionsForHandler(sendFirstByte))).rejects.toBe(reason);
    const later = answerWith(503, {}, { 'retry-after': '30' });
    await expect(muster.jobs.get('j', createOptionsForHandler(later))).rejects.toBe(reason);
    await expect(muster.jobs.wait('j', createOptionsForHandler(answerWith(200, { status: 'running' })))).rejects.toBe(
      reason,
    );
  });

  it('the SDK throws an error with the code, fields and request id of the response', async () => {
    const errors = [{ field: 'agentId', message: 'agentId must be a UUID' }];
    handlers = [answerWith(400, { code: 'invalid_payload', detail: 'No.', requestId: 'r-1', errors })];
    const thrown: unknown = await new Muster({ baseUrl }).jobs.launch(launch).catch((error: unknown) => error);
    expect(isMusterError(thrown, 'invalid_payload')).toBe(true);
    expect(thrown).toMatchObject({ status: 400, requestId: 'r-1', fields: errors, message: 'No.' });
    handlers = [(_, response) => response.writeHead(502, { 'x-request-id': 'r-2' }).end('<h1>Bad gateway</h1>')];
    await expect(new Muster({ baseUrl }).usage.get()).rejects.toMatchObject({ code: 'http_502', requestId: 'r-2' });
    handlers = [() => undefined];
    const signal = AbortSignal.timeout(50);
    await expect(new Muster({ baseUrl }).usage.get(undefined, { signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('a list is iterated page by page, each fetched only when it is needed', async () => {
    handlers = [
      answerWith(200, { jobs: [{ id: '1' }, { id: '2' }], nextCursor: 'next' }),
      answerWith(200, { jobs: [{ id: '3' }], nextCursor: null }),
    ];
    const list = new Muster({ baseUrl }).jobs.list({ status: 'failed', limit: 2 });
    expect(requests).toEqual([]);
    const seen: string[] = [];
    for await (const { id } of list) seen.push(`${id} after ${requests.length}`);
    expect(seen).toEqual(['1 after 1', '2 after 1', '3 after 2']);
    expect(requests.map(({ url }) => url)).toEqual([
      '/api/jobs?status=failed&limit=2',
      '/api/jobs?status=failed&limit=2&cursor=next',
    ]);
  });

  it('an event stream resumes after its last event if the connection is lost or rejected', async () => {
    const sendInPieces = (...pieces: string[]): Handler =>
      async function (_, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
        response.destroy();
      } as Handler;
    const formatLogEvent = (id: number) => `event: log\nid: ${id}\ndata: {"type":"log","message":"ü${id}"}\n\n`;
    handlers = [
      sendInPieces('retry: 10\nid: 7\n\n'),
      sendInPieces(formatLogEvent(8).slice(0, 20), formatLogEvent(8).slice(20) + formatLogEvent(9).slice(0, -1)),
      answerWith(503, { code: 'service_unavailable' }, { 'retry-after': '0' }),
      sendInPieces(formatLogEvent(9)),
    ];
    const enough = new AbortController();
    const seen: string[] = [];
    for await (const each of new Muster({ baseUrl }).agents.events('a', { signal: enough.signal })) {
      seen.push(each.id);
      if (seen.length === 2) enough.abort();
    }
    expect(seen).toEqual(['8', '9']);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', '8', '8']);
    handlers = [answerWith(404, { code: 'agent_not_found' })];
    await expect(new Muster({ baseUrl }).agents.events('b').next()).rejects.toMatchObject({ code: 'agent_not_found' });
  });

  it('jobs.wait waits for the end of a run while the service is temporarily unreachable', async () => {
    const answerWithJob = (status: string) => answerWith(200, { id: 'j', status });
    handlers = [
      answerWithJob('queued'),
      breakConnection,
      answerWith(502, {}),
      answerWithJob('running'),
      answerWithJob('failed'),
    ];
    const seen: string[] = [];
    const onChange = ({ status }: { status: string }) => void seen.push(status);
    const muster = new Muster({ baseUrl, maxRetries: 0 });
    expect((await muster.jobs.wait('j', { onChange })).status).toBe('failed');
    expect(seen).toEqual(['queued', 'running', 'failed']);
    handlers = [answerWithJob('running')];
    for (const handler of [answerWithJob('running'), () => undefined]) {
      handlers = [handler];
      const began = performance.now();
      await expect(muster.jobs.wait('j', { timeoutMs: 700 })).rejects.toMatchObject({ code: 'wait_timeout' });
      expect(performance.now() - began).toBeGreaterThan(690);
    }
  });
});

describe('verifyWebhook', () => {
  const key = randomBytes(32);
  const secret = `whsec_${key.toString('base64')}`;
  const now = Date.UTC(2026, 0, 1);
  const body = '{"type":"job.completed","timestamp":"2026-01-01T00:00:00.000Z","data":{"name":"ü"}}';
  const signDelivery = (by: Buffer, at = now, data = body) => {
    const timestamp = String(at / 1000);
    return { timestamp, signature: `v1,${createHmac('sha256', by).update(`m.${timestamp}.${data}`).digest('base64')}` };
  };
  const buildSignatureHeaders = (timestamp: string, signature: string) => ({
    'Webhook-Id': 'm',
    'Webhook-Timestamp': timestamp,
    'Webhook-Signature': signature,
  });

  it('verifyWebhook returns the signed event, for a body as text or as bytes, and headers in any form', async () => {
    const { timestamp, signature } = signDelivery(key);
    const headers = buildSignatureHeaders(timestamp, signature);
    const event = { type: 'job.completed', timestamp: '2026-01-01T00:00:00.000Z', data: { name: 'ü' } };
    expect(await verifyWebhook({ secret, headers, body, now })).toEqual(event);
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook({ secret, headers: new Headers(headers), body: bytes, now })).toEqual(event);
  });

  it('verifyWebhook accepts one valid signature of several, and one valid secret of several', async () => {
    const { timestamp, signature } = signDelivery(key);
    const { signature: other } = signDelivery(randomBytes(32));
    const headers = buildSignatureHeaders(timestamp, `v1a,abc v2,xyz ${other} ${signature}`);
    expect((await verifyWebhook({ secret, headers, body, now })).type).toBe('job.completed');
    const old = `whsec_${randomBytes(32).toString('base64')}`;
    expect((await verifyWebhook({ secret: [old, secret], headers, body, now })).type).toBe('job.completed');
  });

  it.each<[string, string, (ok: ReturnType<typeof signDelivery>) => Partial<Parameters<typeof verifyWebhook>[0]>]>([
    ['is older than five minutes', 'webhook_too_old', () => ({ now: now + 300_001 })],
    ['is more than five minutes in the future', 'webhook_too_old', () => ({ now: now - 300_001 })],
    ['was changed', 'webhook_signature', () => ({ body: body.replace('ü', 'u') })],
    [
      'is signed with another secret',
      'webhook_signature',
      ({ timestamp }) => ({ headers: buildSignatureHeaders(timestamp, signDelivery(randomBytes(32)).signature) }),
    ],
    [
      'has another timestamp than the signed one',
      'webhook_signature',
      ({ signature }) => ({ headers: buildSignatureHeaders(String(now / 1000 + 1), signature) }),
    ],
    [
      'has no signature',
      'webhook_signature',
      ({ timestamp }) => ({ headers: buildSignatureHeaders(timestamp, 'v1, v1,!') }),
    ],
    ['lacks a header', 'webhook_headers', () => ({ headers: { 'webhook-id': 'm' } })],
    ['is verified with an invalid secret', 'webhook_secret', () => ({ secret: 'hunter2' })],
  ])('verifyWebhook rejects a webhook that %s', async (_, code, change) => {
    const { timestamp, signature } = signDelivery(key);
    const delivery = { secret, headers: buildSignatureHeaders(timestamp, signature), body, now };
    await expect(verifyWebhook({ ...delivery, ...change({ timestamp, signature }) })).rejects.toMatchObject({ code });
  });

  it('verifyWebhook accepts a webhook that is exactly five minutes old', async () => {
    const { timestamp, signature } = signDelivery(key);
    await verifyWebhook({ secret, headers: buildSignatureHeaders(timestamp, signature), body, now: now + 300_000 });
  });
});
