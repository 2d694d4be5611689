import { PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { BUCKET, sendRawRequest, startFixture, type Fixture } from './object-store.harness';

const ORIGIN = 'http://localhost:4200';
let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture({ corsOrigins: [ORIGIN] });
});

afterAll(() => fixture.close());

it('a page of the configured origin can send a preflight, put to a presigned URL, and read the etag', async () => {
  const client = fixture.createClient({ requestChecksumCalculation: 'WHEN_REQUIRED' });
  const url = await getSignedUrl(client, new PutObjectCommand({ Bucket: BUCKET, Key: 'from a browser' }));
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: ORIGIN,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'content-type',
    },
  });
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT');
  expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type');
  const put = await fetch(url, { method: 'PUT', body: 'x', headers: { origin: ORIGIN, 'content-type': 'text/plain' } });
  expect(put.status).toBe(200);
  expect(put.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(put.headers.get('access-control-expose-headers')).toContain('etag');
  expect(put.headers.get('vary')).toContain('Origin');
});

it('a page of the configured origin can read an error response of the object store', async () => {
  const answer = await sendRequest({ method: 'GET', headers: { origin: ORIGIN } });
  expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' });
  expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
});

it.each([
  ['another origin', { origin: 'http://localhost:4201', 'access-control-request-method': 'PUT' }],
  ['an origin that starts the same', { origin: `${ORIGIN}.evil.example`, 'access-control-request-method': 'PUT' }],
  ['the null origin', { origin: 'null', 'access-control-request-method': 'PUT' }],
  ['no origin', { 'access-control-request-method': 'PUT' }],
  ['another method', { origin: ORIGIN, 'access-control-request-method': 'DELETE' }],
  ['no method', { origin: ORIGIN }],
])('the object store refuses a preflight with %s', async (_, headers: Record<string, string>) => {
  await expect(sendRequest({ method: 'OPTIONS', headers })).resolves.toMatchObject({
    status: 403,
    code: 'AccessForbidden',
  });
});

it('a page of another origin cannot read responses of the object store', async () => {
  const answer = await sendRequest({ method: 'GET', headers: { origin: 'http://localhost:4201' } });
  expect(answer.headers['access-control-allow-origin']).toBeUndefined();
});

it('the object store allows no origin by default', async () => {
  const other = await startFixture();
  const headers = { origin: ORIGIN, 'access-control-request-method': 'PUT' };
  const answer = await sendRawRequest({
    endpoint: other.store.endpoint,
    method: 'OPTIONS',
    path: `/${BUCKET}/key`,
    headers,
  });
  expect(answer.status).toBe(403);
  expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  await other.close();
});

function sendRequest({ method, headers }: { method: string; headers: Record<string, string> }) {
  return sendRawRequest({ endpoint: fixture.store.endpoint, method, path: `/${BUCKET}/key`, headers });
}
