import { randomBytes } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gatewayConfigs } from '../gateway-configs';
import { GatewayModule } from '../gateway.module';

describe('objects on the service’s own port', () => {
  let harness: Harness;
  let tenant: Tenant;
  let storage: ObjectStorage;
  const startGateway = (env: Record<string, string>) =>
    startHarness({
      name: 'gateway',
      configs: gatewayConfigs,
      modules: [GatewayModule],
      env: { S3_THROUGH_SERVICE: 'true', PUBLIC_APP_URL: '', ...env },
    });

  beforeAll(async () => {
    harness = await startGateway({});
    storage = harness.app.nest.get(ObjectStorage, { strict: false });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  /** Returns the signed URL with the address at which a caller reaches the service. */
  const moveUrlToOrigin = (url: string, origin = harness.url) =>
    new URL(new URL(url).pathname + new URL(url).search, origin).href;
  const presignOnGateway = async (key: string, contentType?: string) =>
    moveUrlToOrigin(await storage.presignGet(key, { expiresInSeconds: 60, contentType }));
  const storeObject = async (body: Buffer, contentType: string) => {
    const key = `spec/${newId()}`;
    await storage.put(key, body, contentType);
    return key;
  };

  it('an object’s URL is signed for the address that the caller uses', async () => {
    const key = await storeObject(Buffer.from('picture'), 'image/png');
    const { id: agentId } = await makeAgent(harness.db, tenant);
    const { id } = await makeJob(harness.db, { organizationId: tenant.organizationId, agentId });
    await harness.db.query('system', 'UPDATE job SET screenshot_key = $2 WHERE id = $1', [id, key]);
    const { screenshotUrl } = (await tenant.api.get(`/api/jobs/${id}`)).body;
    expect(screenshotUrl).toMatch(new RegExp(`^${harness.url}/objects/[a-z0-9-]+/${key}\\?`));
    expect(await (await fetch(screenshotUrl)).text()).toBe('picture');
    const forwarded = { 'x-forwarded-host': 'muster.example:8443', 'x-forwarded-proto': 'https' };
    const elsewhere = (await tenant.api.with(forwarded).get(`/api/jobs/${id}`)).body.screenshotUrl as string;
    expect(elsewhere).toMatch(/^https:\/\/muster\.example:8443\/objects\//);
    expect(await (await fetch(moveUrlToOrigin(elsewhere))).text()).toBe('picture');
  });

  it('every replica serves an object’s URL, which is below PUBLIC_APP_URL if that is set', async () => {
    const key = await storeObject(Buffer.from('shared'), 'text/plain');
    const other = await startGateway({ PUBLIC_APP_URL: 'https://muster.example.com/' });
    try {
      const url = await other.app.nest.get(ObjectStorage, { strict: false }).presignGet(key, { expiresInSeconds: 60 });
      expect(url).toMatch(/^https:\/\/muster\.example\.com\/objects\//);
      for (const origin of [harness.url, other.url])
        expect(await (await fetch(moveUrlToOrigin(url, origin))).text()).toBe('shared');
    } finally {
      await other.close();
    }
  });

  it('an upload is accepted only with its signed size and type, and may be larger than other bodies', async () => {
    for (const contentType of ['application/zip', 'application/json', 'multipart/form-data; boundary=x']) {
      const body = randomBytes(3 * 1024 * 1024);
      const key = `spec/${newId()}`;
      const ticket = await storage.presignPut(key, { contentType, size: body.length, expiresInSeconds: 60 });
      const putBytes = (bytes: Buffer, headers: Record<string, string> = ticket.headers) =>
        fetch(moveUrlToOrigin(ticket.url), { method: 'PUT', headers, body: new Uint8Array(bytes) });
      expect((await putBytes(body.subarray(1))).status).toBe(403);
      expect((await putBytes(body, { 'content-type': 'text/html' })).status).toBe(403);
      expect((await putBytes(body)).status).toBe(200);
      expect((await storage.get(key))!.equals(body)).toBe(true);
    }
  });

  it('an upload is rejected before it is read, without blocking later requests on its connection', async () => {
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    const body = randomBytes(5 * 1024 * 1024);
    const ticket = await storage.presignPut(`spec/${newId()}`, {
      contentType: 'text/plain',
      size: 7,
      expiresInSeconds: 60,
    });
    const putBytesOnSocket = (bytes: Buffer) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'content-type': 'text/plain', 'content-length': bytes.length };
        const outgoing = httpRequest(moveUrlToOrigin(ticket.url), { method: 'PUT', headers, agent }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode!));
        });
        outgoing.on('error', reject);
        outgoing.end(bytes);
      });
    for (let i = 0; i < 5; i += 1) expect(await putBytesOnSocket(body)).toBe(403);
    expect(await putBytesOnSocket(Buffer.from('7 bytes'))).toBe(200);
    agent.destroy();
  });

  it('an object can be read by range and by conditional requests', async () => {
    const body = randomBytes(200_000);
    const url = await presignOnGateway(await storeObject(body, 'video/webm'));
    const part = await fetch(url, { headers: { range: 'bytes=1000-1999' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000-1999/200000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(body.subarray(1000, 2000))).toBe(true);
    const whole = await fetch(url);
    expect(whole.headers.get('accept-ranges')).toBe('bytes');
    expect(Buffer.from(await whole.arrayBuffer()).equals(body)).toBe(true);
    const unchanged = await fetch(url, { headers: { 'if-none-match': whole.headers.get('etag')! } });
    expect(unchanged.status).toBe(304);
  });

  it('any page may read the signed URL of an object, which is sandboxed and displayed only if it is an image', async () => {
    const dispositions = {
      'image/png': 'inline',
      'image/webp': 'inline',
      'text/html': 'attachment',
      'image/svg+xml': 'attachment',
    };
    for (const [type, disposition] of Object.entries(dispositions)) {
      const { headers } = await fetch(await presignOnGateway(await storeObject(Buffer.from('<script>'), type), type));
      expect(headers.get('content-disposition')).toMatch(new RegExp(`^${disposition}`));
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain('sandbox');
      expect(headers.get('access-control-allow-origin')).toBe('*');
    }
    const preflight = await fetch(await presignOnGateway('spec/x'), {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-headers': 'content-type' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, PUT']);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type');
  });

  it('an object’s URL is refused if its key, lifetime or path was changed or if its signature is missing', async () => {
    const key = await storeObject(Buffer.from('secret'), 'text/plain');
    const url = await presignOnGateway(key);
    const other = await storeObject(Buffer.from('other'), 'text/plain');
    const refused = [
      url.replace(key, other),
      url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600'),
      url.replace(key, `${key}/../${other.slice(5)}`),
      url.split('?')[0]!,
      url.replace(/\/[^/]+\/spec.*/, '/?X-Amz-Signature=1'),
    ];
    for (const wrong of refused) {
      const answer = await fetch(wrong, { headers: { authorization: 'AWS4-HMAC-SHA256 x', 'x-api-key': 'y' } });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(await answer.text()).not.toContain('secret');
    }
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
    expect((await storage.get(key))!.toString()).toBe('secret');
  });

  it('an upload of more than 100 MiB or without a size is refused', async () => {
    const url = new URL(await presignOnGateway('spec/large'));
    const readUploadStatus = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const outgoing = httpRequest(url, { method: 'PUT', headers, agent: false }, (answer) => {
          resolve(answer.statusCode!);
          answer.resume();
          outgoing.destroy();
        });
        outgoing.on('error', reject);
        outgoing.write('x');
      });
    expect(await readUploadStatus({ 'content-length': String(100 * 1024 * 1024 + 1) })).toBe(413);
    expect(await readUploadStatus({ 'transfer-encoding': 'chunked' })).toBe(400);
  });

  it('an interrupted upload stores nothing and does not stop the service', async () => {
    const key = `spec/${newId()}`;
    const ticket = await storage.presignPut(key, { contentType: 'text/plain', size: 1000, expiresInSeconds: 60 });
    const url = new URL(moveUrlToOrigin(ticket.url));
    const socket = connect(Number(url.port), url.hostname);
    const head = ['host: x', 'content-type: text/plain', 'content-length: 1000'].join('\r\n');
    socket.write(`PUT ${url.pathname}${url.search} HTTP/1.1\r\n${head}\r\n\r\nhalf`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    await waitFor('the service to respond', async () => (await harness.http.get('/api/health')).status === 200);
    expect(await storage.get(key)).toBeNull();
  });
});
