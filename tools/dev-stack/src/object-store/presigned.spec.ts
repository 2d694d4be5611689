import {
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import {
  BUCKET,
  CREDENTIALS,
  listFilesBelow,
  sendRawRequest,
  startFixture,
  type Fixture,
  type RawResponse,
} from './object-store.harness';

const KEY = 'logs/run 42+é.txt';
const NOW = Date.now();
let clock = NOW;
let fixture: Fixture;
let s3: S3Client;

beforeAll(async () => {
  fixture = await startFixture({ now: () => new Date(clock) });
  s3 = fixture.createClient();
});

afterAll(() => fixture.close());

beforeEach(async () => {
  clock = Date.now();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: KEY, Body: 'old' }));
});

/** No refused request may leave a file behind. */
afterEach(async () => {
  clock = Date.now();
  await expect(listFilesBelow(`${fixture.dataDir}/buckets`)).resolves.toHaveLength(1);
  await expect(listFilesBelow(`${fixture.dataDir}/temp`)).resolves.toEqual([]);
});

it('a client with a presigned URL can read until the URL expires', async () => {
  const url = await getUrl({ expiresIn: 60 });
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  await expect(answer.text()).resolves.toBe('old');
  clock += 61_000;
  await expect(sendRequest(url)).resolves.toMatchObject({ status: 403, code: 'AccessDenied' });
  expect((await sendRequest(url)).body).toContain('Request has expired');
});

it('the object store keeps an idle connection open for longer than a busy client needs', async () => {
  const answer = await fetch(await getUrl({ expiresIn: 60 }));
  expect(answer.headers.get('keep-alive')).toBe('timeout=72');
  await answer.text();
});

it('a client with a presigned URL can write, and choose the content type', async () => {
  const answer = await fetch(await putUrl({ expiresIn: 60 }), {
    method: 'PUT',
    body: 'new',
    headers: { 'content-type': 'text/plain' },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('etag')).toBe('"22af645d1859cb5ca6da0c484f1f37ea"');
  const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: KEY }));
  expect(got.ContentType).toBe('text/plain');
  await expect(got.Body?.transformToString()).resolves.toBe('new');
});

it('a client cannot write with an expired presigned URL', async () => {
  const url = await putUrl({ expiresIn: 60 });
  clock += 61_000;
  await expect(sendRequest(url, { method: 'PUT', body: 'new' })).resolves.toMatchObject({
    status: 403,
    code: 'AccessDenied',
  });
  await expect(readObject()).resolves.toBe('old');
});

it('a presigned URL returns the signed content type and file name', async () => {
  const answer = await fetch(
    await getSignedUrl(
      s3,
      new GetObjectCommand({
        Bucket: BUCKET,
        Key: KEY,
        ResponseContentType: 'text/csv',
        ResponseContentDisposition: 'attachment; filename="a.csv"',
      }),
    ),
  );
  expect(answer.headers.get('content-type')).toBe('text/csv');
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="a.csv"');
});

it('browsers download every object that is not a raster image, whatever headers the sender or the signer chooses', async () => {
  const readDisposition = async (
    stored: Partial<PutObjectCommandInput>,
    signed: Partial<GetObjectCommandInput> = {},
  ) => {
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: KEY, Body: '<script>', ...stored }));
    const answer = await fetch(await getSignedUrl(s3, new GetObjectCommand({ Bucket: BUCKET, Key: KEY, ...signed })));
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    return answer.headers.get('content-disposition');
  };
  expect(await readDisposition({ ContentType: 'text/html' })).toBe('attachment');
  expect(await readDisposition({ ContentType: 'image/svg+xml' })).toBe('attachment');
  expect(await readDisposition({})).toBe('attachment');
  expect(await readDisposition({ ContentType: 'text/html', ContentDisposition: 'inline; filename="a"' })).toBe(
    'attachment; filename="a"',
  );
  expect(await readDisposition({ ContentType: 'text/html' }, { ResponseContentDisposition: 'inline' })).toBe(
    'attachment',
  );
  expect(await readDisposition({ ContentType: 'image/png' }, { ResponseContentType: 'text/html' })).toBe('attachment');
  expect(await readDisposition({ ContentType: 'image/png' })).toBeNull();
  expect(await readDisposition({ ContentType: 'image/WebP; a=b' }, { ResponseContentDisposition: 'inline' })).toBe(
    'inline',
  );
  expect(await readDisposition({ ContentType: 'image/png' }, { ResponseContentDisposition: 'attachment' })).toBe(
    'attachment',
  );
});

it('a signed response header that would split the response is refused', async () => {
  const ResponseContentType = 'text/csv\r\nset-cookie: a=b';
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket: BUCKET, Key: KEY, ResponseContentType }));
  await expect(sendRequest(url)).resolves.toMatchObject({ status: 400, code: 'InvalidArgument' });
});

it('a put with a presigned URL stores the metadata that the signer put in the URL', async () => {
  const command = new PutObjectCommand({ Bucket: BUCKET, Key: KEY, Metadata: { run: '42' } });
  const url = await getSignedUrl(s3, command);
  expect(url).toContain('x-amz-meta-run=42');
  await expect(sendRequest(url, { method: 'PUT', body: 'new' })).resolves.toMatchObject({ status: 200 });
  const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: KEY }));
  expect(head.Metadata).toEqual({ run: '42' });
});

it('a put with a presigned URL requires the headers that the signer specified', async () => {
  const command = new PutObjectCommand({ Bucket: BUCKET, Key: KEY, ContentType: 'text/plain', IfNoneMatch: '*' });
  const url = await getSignedUrl(s3, command, { signableHeaders: new Set(['content-type', 'host', 'if-none-match']) });
  const refused = await sendRequest(url, { method: 'PUT', body: 'new', headers: { 'content-type': 'text/html' } });
  expect(refused.code).toBe('SignatureDoesNotMatch');
  const headers = { 'content-type': 'text/plain', 'if-none-match': '*' };
  await expect(sendRequest(url, { method: 'PUT', body: 'new', headers })).resolves.toMatchObject({
    code: 'PreconditionFailed',
  });
});

it.each<[string, (url: string) => string, string]>([
  ['key', (url) => url.replace('run%2042', 'run%2043'), 'SignatureDoesNotMatch'],
  ['bucket', (url) => url.replace(`/${BUCKET}/`, '/snapshots/'), 'SignatureDoesNotMatch'],
  ['escapes', (url) => url.replace('logs/', 'logs%2F'), 'SignatureDoesNotMatch'],
  ['dot segments', (url) => url.replace('logs/', 'logs/./'), 'SignatureDoesNotMatch'],
  ['expiry', (url) => url.replace('X-Amz-Expires=60', 'X-Amz-Expires=61'), 'SignatureDoesNotMatch'],
  [
    'date',
    (url) => url.replace(/(X-Amz-Date=\w+)\dZ/, (_, start: string) => `${start}${pickOtherSecond(url)}Z`),
    'SignatureDoesNotMatch',
  ],
  [
    'signature',
    (url) => url.replace(/(X-Amz-Signature=)./, (_, name: string) => `${name}${pickOtherDigit(url)}`),
    'SignatureDoesNotMatch',
  ],
  ['access key', (url) => url.replace(CREDENTIALS.accessKeyId, 'UNKNOWN'), 'InvalidAccessKeyId'],
  ['region', (url) => url.replace('us-east-1', 'eu-west-1'), 'AuthorizationQueryParametersError'],
  ['service', (url) => url.replace('%2Fs3%2F', '%2Fsts%2F'), 'AuthorizationQueryParametersError'],
  ['algorithm', (url) => url.replace('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1'), 'AuthorizationQueryParametersError'],
  ['signed headers', (url) => url.replace('SignedHeaders=host', 'SignedHeaders=date'), 'AccessDenied'],
  ['query, by an added parameter', (url) => `${url}&response-content-type=text/html`, 'SignatureDoesNotMatch'],
  ['query, by a removed parameter', (url) => url.replace('&x-id=GetObject', ''), 'SignatureDoesNotMatch'],
  ['query, by a repeated parameter', (url) => `${url}&X-Amz-Expires=604800`, 'InvalidArgument'],
  ['query, by a token', (url) => `${url}&X-Amz-Security-Token=token`, 'InvalidToken'],
  ['query, by metadata', (url) => `${url}&x-amz-meta-a=b`, 'SignatureDoesNotMatch'],
  [
    'query, by a removed signature',
    (url) => url.replace(/&X-Amz-Signature=\w+/, ''),
    'AuthorizationQueryParametersError',
  ],
])('a presigned URL whose %s was changed is refused', async (_, tamper, code) => {
  const url = await getUrl({ expiresIn: 60 });
  expect(tamper(url)).not.toBe(url);
  await expect(sendRequest(tamper(url))).resolves.toMatchObject({ code });
});

it.each(['PUT', 'DELETE', 'HEAD', 'POST'])('a %s with a presigned URL for GET is refused', async (method) => {
  const answer = await sendRequest(await getUrl({ expiresIn: 60 }), { method });
  expect(answer.status).toBe(403);
  await expect(readObject()).resolves.toBe('old');
});

it.each([
  ['x-amz-meta-a', 'b', 'AccessDenied'],
  ['x-amz-acl', 'public-read', 'AccessDenied'],
  ['x-amz-copy-source', `${BUCKET}/other`, 'AccessDenied'],
  ['x-amz-content-sha256', '0'.repeat(64), 'InvalidArgument'],
  ['x-amz-security-token', 'token', 'InvalidToken'],
  ['host', 'elsewhere', 'SignatureDoesNotMatch'],
  ['authorization', 'AWS4-HMAC-SHA256 Credential=a', 'InvalidArgument'],
])('a presigned URL for PUT with an added header %s is refused', async (name, value, code) => {
  const url = await putUrl({ expiresIn: 60 });
  const answer = await sendRequest(url, { method: 'PUT', body: 'new', headers: { [name]: value } });
  expect(answer.code).toBe(code);
  await expect(readObject()).resolves.toBe('old');
});

it.each([['0'], ['604801'], ['-1'], ['1e3'], ['']])(
  'a presigned URL with the expiry "%s" is refused',
  async (expires) => {
    const url = (await getUrl({ expiresIn: 60 })).replace('X-Amz-Expires=60', `X-Amz-Expires=${expires}`);
    await expect(sendRequest(url)).resolves.toMatchObject({ status: 400, code: 'AuthorizationQueryParametersError' });
  },
);

it('a presigned URL may expire after a week, but may not be signed in the future', async () => {
  await expect(sendRequest(await getUrl({ expiresIn: 604_800 }))).resolves.toMatchObject({ status: 200 });
  const url = await getUrl({ expiresIn: 60, signingDate: new Date(NOW + 3_600_000) });
  const answer = await sendRequest(url);
  expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' });
  expect(answer.body).toContain('Request is not yet valid');
});

function getUrl(options: { expiresIn: number; signingDate?: Date }): Promise<string> {
  return getSignedUrl(s3, new GetObjectCommand({ Bucket: BUCKET, Key: KEY }), options);
}

function putUrl(options: { expiresIn: number }): Promise<string> {
  return getSignedUrl(s3, new PutObjectCommand({ Bucket: BUCKET, Key: KEY }), options);
}

/** Sends the URL unchanged; fetch would normalize it. */
function sendRequest(
  url: string,
  { method = 'GET', headers, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<RawResponse> {
  const { endpoint } = fixture.store;
  return sendRawRequest({ endpoint, method, path: url.slice(endpoint.length), headers, body });
}

async function readObject(): Promise<string | undefined> {
  clock = Date.now();
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: KEY }));
  return Body?.transformToString();
}

function pickOtherDigit(url: string): string {
  return /X-Amz-Signature=0/.test(url) ? '1' : '0';
}

function pickOtherSecond(url: string): string {
  return /X-Amz-Date=\w+0Z/.test(url) ? '1' : '0';
}
