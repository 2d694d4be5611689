import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BUCKET,
  listFilesBelow,
  OTHER_BUCKET,
  captureRefusal,
  sendRawRequest,
  signRawRequest,
  startFixture,
  type Fixture,
} from './object-store.harness';

const ODD_KEYS = [
  'plain',
  ' leading and trailing ',
  'a+b',
  'a%2Fb',
  'a%b',
  'a%00b',
  '100%',
  '/leading/slash',
  '//two',
  'a//b',
  'folder/',
  '/',
  '..',
  '.',
  '../up',
  '../../../../etc/passwd',
  `../${OTHER_BUCKET}/key`,
  'a/../b',
  'a/./b',
  'a\\..\\b',
  'C:\\windows',
  'nul\u0000byte',
  'new\nline\r\ttab',
  '?query=1&b#fragment',
  '!\'()*;:@&=$,[]{}|^`<>"~',
  'ünïcödé',
  'u\u0308 is not ü',
  '日本語/キー',
  '😀',
  '\uffee before 😀 in UTF-8, after it in UTF-16',
  '\ufeffbyte order mark',
  'byte order mark',
  '__proto__',
  'constructor',
  'UPPER',
  'upper',
  'é'.repeat(512),
  'k'.repeat(1024),
];

let parent: string;
let fixture: Fixture;
let s3: S3Client;

beforeEach(async () => {
  // The data folder has a separate parent, so that a file outside the data folder would be found.
  parent = await mkdtemp(join(tmpdir(), 'object-store-keys-'));
  fixture = await startFixture({ dataDir: join(parent, 'data') });
  s3 = fixture.createClient();
});

afterEach(async () => {
  await fixture.close();
  await rm(parent, { recursive: true, force: true });
});

it('the object store distinguishes unusual keys in put, list, get and delete', async () => {
  for (const Key of ODD_KEYS) await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: `body of ${Key}` }));
  await expect(listKeys()).resolves.toEqual(sortInUtf8Order(ODD_KEYS));
  for (const Key of ODD_KEYS) {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
    await expect(Body?.transformToString()).resolves.toBe(`body of ${Key}`);
  }
  await expect(findStrayFiles()).resolves.toEqual([]);
  const [deleted, ...remaining] = ODD_KEYS;
  await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: deleted }));
  await expect(listKeys()).resolves.toEqual(sortInUtf8Order(remaining));
});

it('the object store refuses a key of more than 1024 bytes', async () => {
  for (const Key of ['k'.repeat(1025), 'é'.repeat(513)]) {
    const answer = s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'x' }));
    await expect(captureRefusal(answer)).resolves.toEqual({ name: 'KeyTooLongError', status: 400 });
  }
});

/** Paths that some servers, proxies or file systems interpret as a different location. */
it.each([
  [`/${BUCKET}/../${OTHER_BUCKET}/key`, `../${OTHER_BUCKET}/key`],
  [`/${BUCKET}/%2e%2e/${OTHER_BUCKET}/key`, `../${OTHER_BUCKET}/key`],
  [`/${BUCKET}/..%2f${OTHER_BUCKET}%2Fkey`, `../${OTHER_BUCKET}/key`],
  [`/${BUCKET}/../../../../../../tmp/escaped`, '../../../../../../tmp/escaped'],
  [`/${BUCKET}/%2e%2e%2f%2e%2e%2fescaped`, '../../escaped'],
  [`/${BUCKET}/..%5c..%5cescaped`, '..\\..\\escaped'],
  [`/${BUCKET}/%252e%252e/escaped`, '%2e%2e/escaped'],
  [`/${BUCKET}//etc/passwd`, '/etc/passwd'],
  [`/${BUCKET}/./a`, './a'],
  [`/${BUCKET}/a/..`, 'a/..'],
  [`/${BUCKET}/%00`, '\u0000'],
])('the object store treats %s as a key', async (path, key) => {
  const answer = await sendRawRequest(
    signRawRequest({ endpoint: fixture.store.endpoint, method: 'PUT', path, body: 'x' }),
  );
  expect(answer.status).toBe(200);
  await expect(listKeys()).resolves.toEqual([key]);
  await expect(listKeys(OTHER_BUCKET)).resolves.toEqual([]);
  await expect(findStrayFiles()).resolves.toEqual([]);
});

it.each([
  ['/../etc/passwd'],
  ['/..'],
  ['/%2e%2e/key'],
  [`/${BUCKET}%2f..%2f${OTHER_BUCKET}/key`],
  [`//${BUCKET}/key`],
  ['/buckets%00/key'],
])('the object store refuses the path %s, which does not name a bucket', async (path) => {
  const answer = await sendRawRequest(
    signRawRequest({ endpoint: fixture.store.endpoint, method: 'PUT', path, body: 'x' }),
  );
  expect(answer).toMatchObject({ status: 400, code: 'InvalidBucketName' });
  await expect(listFilesBelow(parent)).resolves.toEqual([]);
});

it.each([['%'], ['%zz'], ['%ff'], ['%c0%ae%c0%ae/escaped'], ['%ed%a0%80']])(
  'the object store refuses the key %s, which is not valid UTF-8',
  async (key) => {
    const request = { endpoint: fixture.store.endpoint, method: 'PUT', path: `/${BUCKET}/${key}`, body: 'x' };
    await expect(sendRawRequest(request)).resolves.toMatchObject({ status: 400, code: 'InvalidURI' });
    await expect(listFilesBelow(parent)).resolves.toEqual([]);
  },
);

it.each([
  [`PUT http://127.0.0.1/${BUCKET}/key HTTP/1.1`],
  [`PUT ${BUCKET}/key HTTP/1.1`],
  [`PUT /${BUCKET}/k\u00e9y HTTP/1.1`],
  [`PUT /${BUCKET}/a#b HTTP/1.1`],
])('the object store refuses the raw request line %s', async (line) => {
  const answer = await new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(fixture.store.port, '127.0.0.1', () => {
      socket.write(`${line}\r\nhost: a\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx`);
    });
    socket.on('data', (data) => (text += data.toString()));
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  await expect(listFilesBelow(parent)).resolves.toEqual([]);
});

async function listKeys(Bucket = BUCKET): Promise<string[]> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  return Contents.map(({ Key }) => Key ?? '');
}

function sortInUtf8Order(keys: string[]): string[] {
  return [...keys].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
}

/** Files in or next to the data folder that are not object files of this bucket. */
async function findStrayFiles(): Promise<string[]> {
  const files = await listFilesBelow(parent);
  expect(files.length).toBeGreaterThan(0);
  return files.filter((path) => !new RegExp(`^data/buckets/${BUCKET}/[0-9a-f]{64}$`).test(path));
}
