import { GetObjectCommand, PutObjectCommand, type S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import {
  BUCKET,
  CREDENTIALS,
  listFilesBelow,
  captureRefusal,
  sendRawRequest,
  signRawRequest,
  startFixture,
} from '../object-store.harness';
import type { Fixture, RawRequest, Signing } from '../object-store.harness';

let fixture: Fixture;
let s3: S3Client;
let before: string[];
const path = `/${BUCKET}/secret`;

beforeAll(async () => {
  fixture = await startFixture();
  s3 = fixture.createClient();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'secret', Body: 'for signers only' }));
  before = await listFilesBelow(fixture.dataDir);
});

afterAll(() => fixture.close());

/** No refused request may write, change or leave a file. */
afterEach(async () => {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'secret' }));
  await expect(Body?.transformToString()).resolves.toBe('for signers only');
  await expect(listFilesBelow(fixture.dataDir)).resolves.toEqual(before);
});

it.each<[string, S3ClientConfig, string, number]>([
  ['a wrong secret', { credentials: { ...CREDENTIALS, secretAccessKey: 'guessed' } }, 'SignatureDoesNotMatch', 403],
  ['an unknown access key', { credentials: { ...CREDENTIALS, accessKeyId: 'UNKNOWN' } }, 'InvalidAccessKeyId', 403],
  ['a session token', { credentials: { ...CREDENTIALS, sessionToken: 'token' } }, 'InvalidToken', 400],
  ['another region', { region: 'eu-west-1' }, 'AuthorizationHeaderMalformed', 400],
  ['a clock that is an hour late', { systemClockOffset: -3_600_000 }, 'RequestTimeTooSkewed', 403],
  ['a clock that is an hour early', { systemClockOffset: 3_600_000 }, 'RequestTimeTooSkewed', 403],
])('the object store refuses reads and writes of the SDK with %s', async (_, config, name, status) => {
  // A new client for each request, because the SDK corrects its clock after the first error.
  const get = fixture.createClient(config).send(new GetObjectCommand({ Bucket: BUCKET, Key: 'secret' }));
  await expect(captureRefusal(get)).resolves.toEqual({ name, status });
  const put = fixture.createClient(config).send(new PutObjectCommand({ Bucket: BUCKET, Key: 'secret', Body: 'x' }));
  await expect(captureRefusal(put)).resolves.toEqual({ name, status });
});

it.each(['GET', 'PUT', 'HEAD', 'DELETE', 'POST'])('the object store refuses an anonymous %s', async (method) => {
  for (const each of [path, `/${BUCKET}`, '/', '/no-such-bucket/key', `${path}?response-content-type=text/html`]) {
    const answer = await sendRawRequest({ endpoint: fixture.store.endpoint, method, path: each });
    expect(answer.status).toBe(403);
    expect(answer.code).toBe(method === 'HEAD' ? undefined : 'AccessDenied');
  }
});

it.each<[string, Partial<RawRequest>, Signing, string]>([
  ['a clock 14 minutes late', {}, { signedAt: addMinutesToNow(-14) }, ''],
  ['a clock 14 minutes early', {}, { signedAt: addMinutesToNow(14) }, ''],
  ['a clock 16 minutes late', {}, { signedAt: addMinutesToNow(-16) }, 'RequestTimeTooSkewed'],
  ['a clock 16 minutes early', {}, { signedAt: addMinutesToNow(16) }, 'RequestTimeTooSkewed'],
  ['another service', {}, { service: 'sts' }, 'AuthorizationHeaderMalformed'],
  ['a scope of another day', {}, { scopeDate: '20200101' }, 'AuthorizationHeaderMalformed'],
  ['an unsigned host', {}, { unsigned: ['host'] }, 'AccessDenied'],
  ['an unsigned date', {}, { unsigned: ['x-amz-date'] }, 'AccessDenied'],
  ['unsigned metadata', { headers: { 'x-amz-meta-a': '1' } }, { unsigned: ['x-amz-meta-a'] }, 'AccessDenied'],
  ['another secret', {}, { credentials: { ...CREDENTIALS, secretAccessKey: 'guessed' } }, 'SignatureDoesNotMatch'],
  ['an invalid payload hash', {}, { payloadHash: 'abc' }, 'InvalidArgument'],
  [
    'an asymmetric streaming signature',
    {},
    { payloadHash: 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD' },
    'NotImplemented',
  ],
])('the object store checks a request with %s', async (_, request, signing, code) => {
  const method = code === '' ? 'GET' : 'PUT';
  const body = method === 'GET' ? undefined : 'x';
  const answer = await sendRawRequest(
    signRawRequest({ endpoint: fixture.store.endpoint, method, path, body, ...request }, signing),
  );
  expect({ status: answer.status, code: answer.code ?? '' }).toMatchObject(code === '' ? { status: 200 } : { code });
});

it.each<[string, (request: RawRequest) => RawRequest]>([
  ['method', (request) => ({ ...request, method: 'DELETE', body: undefined })],
  ['path', (request) => ({ ...request, path: `/${BUCKET}/other` })],
  ['query', (request) => ({ ...request, path: `${request.path}?x-id=PutObject` })],
  ['signed header', (request) => replaceHeader(request, 'x-amz-meta-a', '2')],
  ['host', (request) => replaceHeader(request, 'host', 'elsewhere')],
  ['escapes in the path', (request) => ({ ...request, path: `/${BUCKET}/%73ecret` })],
  ['set of headers', (request) => replaceHeader(request, 'x-amz-meta-a', undefined)],
])('the object store refuses a request whose %s was changed after signing', async (_, tamper) => {
  const headers = { 'x-amz-meta-a': '1' };
  const signed = signRawRequest({ endpoint: fixture.store.endpoint, method: 'PUT', path, headers, body: 'x' });
  const answer = await sendRawRequest(tamper({ ...signed }));
  expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' });
});

it.each<[string, (authorization: string) => string, string]>([
  ['no value', () => '', 'InvalidRequest'],
  ['the scheme Basic', () => 'Basic dXNlcjpwYXNz', 'InvalidRequest'],
  ['a signature of version 2', () => `AWS ${CREDENTIALS.accessKeyId}:c2lnbmF0dXJl`, 'InvalidRequest'],
  ['no signature', (text) => text.replace(/, Signature=.*/, ''), 'AuthorizationHeaderMalformed'],
  ['an empty signature', (text) => text.replace(/Signature=.*/, 'Signature='), 'AuthorizationHeaderMalformed'],
  ['a short signature', (text) => text.slice(0, -1), 'AuthorizationHeaderMalformed'],
  ['two signatures', (text) => `${text}, Signature=${'0'.repeat(64)}`, 'AuthorizationHeaderMalformed'],
  ['a short scope', (text) => text.replace('/s3/aws4_request', ''), 'AuthorizationHeaderMalformed'],
  [
    'unsorted headers',
    (text) => text.replace('host;', '').replace('x-amz-date', 'x-amz-date;host'),
    'AuthorizationHeaderMalformed',
  ],
  ['a changed signature', (text) => text.replace(/[0-9a-f]{64}$/, '0'.repeat(64)), 'SignatureDoesNotMatch'],
])('the object store refuses an authorization header with %s', async (_, change, code) => {
  const signed = signRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path });
  const authorization = change(signed.headers?.['authorization'] ?? '');
  await expect(sendRawRequest(replaceHeader(signed, 'authorization', authorization))).resolves.toMatchObject({ code });
});

it.each([['20260230T000000Z'], ['2026-01-01T00:00:00Z'], ['yesterday']])(
  'the object store refuses the date %s',
  async (date) => {
    const signed = signRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path });
    await expect(sendRawRequest(replaceHeader(signed, 'x-amz-date', date))).resolves.toMatchObject({
      code: 'AuthorizationHeaderMalformed',
    });
  },
);

it('the object store refuses a request without a date, and one without a payload hash', async () => {
  const signed = signRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path });
  for (const [name, code] of [
    ['x-amz-date', 'AccessDenied'],
    ['x-amz-content-sha256', 'InvalidRequest'],
  ] as const) {
    await expect(sendRawRequest(replaceHeader(signed, name, undefined))).resolves.toMatchObject({ code });
  }
});

it('the object store responds to a refused upload without waiting for its body', async () => {
  const headers = { 'content-length': '1000000', expect: '100-continue' };
  const unsigned = { endpoint: fixture.store.endpoint, method: 'PUT', path, headers };
  const answer = await sendRawRequest(unsigned);
  expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' });
  expect(answer.headers.connection).toBe('close');
});

it('the object store writes no signature to its log', async () => {
  await sendRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path: `${path}?X-Amz-Signature=0123abcd` });
  expect(fixture.log.at(-1)).toMatch(`GET ${path} 400 AuthorizationQueryParametersError`);
  expect(fixture.log.join()).not.toContain('0123abcd');
});

function replaceHeader(request: RawRequest, name: string, value: string | undefined): RawRequest {
  const headers = { ...request.headers };
  if (value === undefined) delete headers[name];
  else headers[name] = value;
  return { ...request, headers };
}

function addMinutesToNow(minutes: number): Date {
  return new Date(Date.now() + minutes * 60_000);
}
