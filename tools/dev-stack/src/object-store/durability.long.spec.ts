// This test is long because it crashes the object store and streams 64 MiB.
// A short test of the same code: tools/dev-stack/src/object-store/object-store.spec.ts
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { Agent, get, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  BUCKET,
  listFilesBelow,
  sendRawRequest,
  sha256Hex,
  signRawRequest,
  startFixture,
  waitUntil,
} from './object-store.harness';
import type { Fixture, RawRequest } from './object-store.harness';

const MIB = 1024 ** 2;
let fixture: Fixture;
let s3: S3Client;

beforeEach(async () => {
  fixture = await startFixture();
  s3 = fixture.createClient();
});

afterEach(() => fixture.close());

it('the object store retains objects and their headers across a restart', async () => {
  const headers = { ContentType: 'text/plain', Metadata: { a: 'x'.repeat(1900) }, CacheControl: 'y'.repeat(4000) };
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'kept', Body: 'whole', ...headers }));
  await fixture.store.stop();
  const again = await startFixture({ dataDir: fixture.dataDir });
  const got = await again.createClient().send(new GetObjectCommand({ Bucket: BUCKET, Key: 'kept' }));
  expect(got).toMatchObject(headers);
  await expect(got.Body?.transformToString()).resolves.toBe('whole');
  const { Contents } = await again.createClient().send(new ListObjectsV2Command({ Bucket: BUCKET }));
  expect(Contents).toMatchObject([{ Key: 'kept', Size: 5, LastModified: got.LastModified }]);
  await again.close();
});

it('the object store serves the old object after a crash during an overwrite, and removes the temporary file', async () => {
  await putObject('overwritten', 'old');
  const upload = startUpload('overwritten', { bytes: 2 * MIB, send: MIB });
  await waitUntil(async () => (await sumTempBytes()) >= MIB / 2);
  // The files that a crash at this moment would leave.
  const crashed = await mkdtemp(join(tmpdir(), 'object-store-crash-'));
  await cp(fixture.dataDir, crashed, { recursive: true });
  upload.destroy();
  await expect(listFilesBelow(join(crashed, 'temp'))).resolves.toHaveLength(1);

  const again = await startFixture({ dataDir: crashed });
  const got = await again.createClient().send(new GetObjectCommand({ Bucket: BUCKET, Key: 'overwritten' }));
  await expect(got.Body?.transformToString()).resolves.toBe('old');
  await expect(listFilesBelow(join(crashed, 'temp'))).resolves.toEqual([]);
  await again.close();
});

it('the object store drops an upload whose client goes away', async () => {
  await putObject('dropped', 'old');
  const upload = startUpload('dropped', { bytes: 2 * MIB, send: MIB });
  await waitUntil(async () => (await sumTempBytes()) > 0);
  upload.destroy();
  await waitUntil(async () => (await listTempFiles()).length === 0);
  await expect(readObject('dropped')).resolves.toBe('old');
});

it('the object store keeps serving a connection after it rejected an unfinished upload on it', async () => {
  const body = 'x'.repeat(4 * MIB);
  const headers = { 'content-length': `${body.length}`, 'x-amz-tagging': 'a=b' };
  const refused = signRawRequest(
    { endpoint: fixture.store.endpoint, method: 'PUT', path: `/${BUCKET}/refused`, headers, body },
    { payloadHash: 'UNSIGNED-PAYLOAD' },
  );
  const next = signRawRequest({ endpoint: fixture.store.endpoint, method: 'HEAD', path: `/${BUCKET}` });
  // The request is written by hand, because Node's client closes a connection that was answered before everything was
  // sent.
  const socket = connect(fixture.store.port, '127.0.0.1');
  for (const each of [refused, next]) socket.write(buildRequestHead(each) + (each.body ?? ''));
  let answers = '';
  for await (const piece of socket.setEncoding('latin1')) {
    answers += piece;
    if (parseStatuses(answers).length === 2) break;
  }
  expect(parseStatuses(answers)).toEqual(['501', '200']);
});

const parseStatuses = (answers: string) => Array.from(answers.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status);

function buildRequestHead({ method, path, headers }: RawRequest): string {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

it('the object store sends a reader one complete version while the object is overwritten', async () => {
  const [first, second] = [Buffer.alloc(16 * MIB, 'o'), Buffer.alloc(16 * MIB, 'y')];
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'read', Body: first }));
  const response = await openGet('read');
  response.pause();
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'read', Body: second }));
  await expect(hashResponse(response)).resolves.toBe(sha256Hex(first));
  await expect(hashResponse(await openGet('read'))).resolves.toBe(sha256Hex(second));
});

it('the object store stores one complete version when many requests write the same key', async () => {
  const bodies = Array.from({ length: 10 }, () => randomBytes(MIB / 4));
  await Promise.all(bodies.map((Body) => s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'many', Body }))));
  const stored = await hashResponse(await openGet('many'));
  expect(bodies.map((body) => sha256Hex(body))).toContain(stored);
  await expect(listFilesBelow(join(fixture.dataDir, 'buckets'))).resolves.toHaveLength(1);
});

it('the object store skips a damaged file and serves the other objects', async () => {
  await putObject('good', 'x');
  await putObject('bad', 'x');
  await fixture.store.stop();
  const name = createHash('sha256').update('bad').digest('hex');
  await writeFile(join(fixture.dataDir, 'buckets', BUCKET, name), 'not an object');
  const again = await startFixture({ dataDir: fixture.dataDir });
  const { Contents } = await again.createClient().send(new ListObjectsV2Command({ Bucket: BUCKET }));
  expect(Contents).toMatchObject([{ Key: 'good' }]);
  expect(again.log).toEqual([expect.stringContaining('skipped while building the index')]);
  await again.close();
});

it('the object store streams 64 MiB in and out without holding them in memory', async () => {
  const total = 64 * MIB;
  const piece = randomBytes(64 * 1024);
  const expected = createHash('sha256');
  const before = process.memoryUsage().rss;
  let peak = before;
  async function* generatePieces() {
    for (let sent = 0; sent < total; sent += piece.length) {
      // The first half must be on disk before the second half is generated.
      if (sent === total / 2) await waitUntil(async () => (await sumTempBytes()) > total / 4);
      peak = Math.max(peak, process.memoryUsage().rss);
      expected.update(piece);
      yield piece;
    }
  }
  await s3.send(
    new PutObjectCommand({ Bucket: BUCKET, Key: 'large', Body: Readable.from(generatePieces()), ContentLength: total }),
  );
  const actual = createHash('sha256');
  for await (const chunk of await openGet('large')) {
    actual.update(chunk as Buffer);
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  expect(actual.digest('hex')).toBe(expected.digest('hex'));
  expect(peak - before).toBeLessThan(2 * total);
});

describe('stop', () => {
  it('the object store closes idle connections at once when it stops, and refuses new ones', async () => {
    const agent = new Agent({ keepAlive: true });
    await new Promise((resolve) =>
      get(fixture.store.endpoint, { agent }, (response) => response.resume().on('end', resolve)),
    );
    await Promise.all([fixture.store.stop(), fixture.store.stop()]);
    await expect(sendRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    agent.destroy();
  });

  it('the object store lets a request in progress finish when it stops', async () => {
    const upload = startUpload('finishing', { bytes: 2 * MIB, send: MIB });
    await waitUntil(async () => (await sumTempBytes()) > 0);
    const answered = new Promise<IncomingMessage>((resolve) => upload.on('response', resolve));
    const stopped = fixture.store.stop();
    upload.end(Buffer.alloc(MIB));
    expect((await answered).resume().statusCode).toBe(200);
    await stopped;
  });

  it('the object store aborts a request that does not end when it stops, and removes its temporary file', async () => {
    const upload = startUpload('endless', { bytes: 2 * MIB, send: MIB });
    await waitUntil(async () => (await sumTempBytes()) > 0);
    const silent = connect(fixture.store.port, '127.0.0.1');
    silent.on('error', () => {});
    await fixture.store.stop();
    await expect(listFilesBelow(fixture.dataDir)).resolves.toEqual([]);
    upload.destroy();
    silent.destroy();
  });
});

function putObject(Key: string, Body: string) {
  return s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body }));
}

async function readObject(Key: string): Promise<string | undefined> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return Body?.transformToString();
}

/** Starts a signed put that announces `bytes`, and sends only the first `send` of them. */
function startUpload(key: string, { bytes, send }: { bytes: number; send: number }): ClientRequest {
  const headers = { 'content-length': `${bytes}` };
  const signed = signRawRequest(
    { endpoint: fixture.store.endpoint, method: 'PUT', path: `/${BUCKET}/${key}`, headers },
    { payloadHash: 'UNSIGNED-PAYLOAD' },
  );
  const { port } = fixture.store;
  const upload = request({ port, host: '127.0.0.1', method: 'PUT', path: signed.path, headers: signed.headers });
  upload.on('error', () => {});
  upload.write(Buffer.alloc(send));
  return upload;
}

function openGet(key: string): Promise<IncomingMessage> {
  const signed = signRawRequest({ endpoint: fixture.store.endpoint, method: 'GET', path: `/${BUCKET}/${key}` });
  const { endpoint } = fixture.store;
  return new Promise((resolve, reject) => {
    get(`${endpoint}${signed.path}`, { headers: signed.headers, agent: false }, resolve).on('error', reject);
  });
}

async function hashResponse(response: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function listTempFiles(): Promise<string[]> {
  return readdir(join(fixture.dataDir, 'temp'));
}

async function sumTempBytes(): Promise<number> {
  const sizes = await Promise.all(
    (await listTempFiles()).map(async (name) => (await stat(join(fixture.dataDir, 'temp', name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
