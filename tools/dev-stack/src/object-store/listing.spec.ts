import {
  ListObjectsV2Command,
  PutObjectCommand,
  type ListObjectsV2CommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { BUCKET, captureRefusal, startFixture, type Fixture } from './object-store.harness';

const KEYS = ['a', 'a/', 'a/1', 'a/2', 'a/b/3', 'a0', 'b/1', 'b/2', 'ü/1', '\uffee', '😀'];

let fixture: Fixture;
let s3: S3Client;

beforeAll(async () => {
  fixture = await startFixture();
  s3 = fixture.createClient();
  for (const Key of [...KEYS].reverse()) await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key }));
});

afterAll(() => fixture.close());

it('the object store lists every key in the order of its UTF-8 bytes', async () => {
  const answer = await listObjects({});
  expect(answer).toMatchObject({ keys: KEYS, prefixes: [], KeyCount: 11, IsTruncated: false });
  expect(answer.Contents?.[0]).toMatchObject({ Size: 1, ETag: '"0cc175b9c0f1b6a831c399e269772661"' });
});

it('the object store lists the same keys page by page for every page size', async () => {
  for (const MaxKeys of [1, 2, 3, 10, 11]) await expect(listAllKeys({ MaxKeys })).resolves.toEqual(KEYS);
});

it.each<[string, ListObjectsV2CommandInput, string[], string[]]>([
  ['a delimiter', buildInput({ Delimiter: '/' }), ['a', 'a0', '\uffee', '😀'], ['a/', 'b/', 'ü/']],
  ['a prefix', buildInput({ Prefix: 'a/' }), ['a/', 'a/1', 'a/2', 'a/b/3'], []],
  ['a prefix and a delimiter', buildInput({ Prefix: 'a/', Delimiter: '/' }), ['a/', 'a/1', 'a/2'], ['a/b/']],
  ['a longer delimiter', buildInput({ Delimiter: '/b/' }), KEYS.filter((key) => key !== 'a/b/3'), ['a/b/']],
  ['a prefix that no key has', buildInput({ Prefix: 'zzz' }), [], []],
  ['start-after', buildInput({ StartAfter: 'b/1' }), ['b/2', 'ü/1', '\uffee', '😀'], []],
  ['start-after a key that does not exist', buildInput({ StartAfter: 'a/b' }), KEYS.slice(4), []],
  ['a page size of 0', buildInput({ MaxKeys: 0 }), [], []],
])('the object store lists keys with %s', async (_, request, keys, prefixes) => {
  await expect(listObjects(request)).resolves.toMatchObject({ keys, prefixes, IsTruncated: false });
});

it('a listing returns each common prefix once, also across pages', async () => {
  for (const MaxKeys of [1, 2, 3, 7]) {
    await expect(listAllKeys({ MaxKeys, Delimiter: '/' })).resolves.toEqual([
      'a',
      'a/',
      'a0',
      'b/',
      'ü/',
      '\uffee',
      '😀',
    ]);
  }
  await expect(listAllKeys({ MaxKeys: 1, Delimiter: '/', Prefix: 'a/' })).resolves.toEqual([
    'a/',
    'a/1',
    'a/2',
    'a/b/',
  ]);
});

it('a listing encodes keys if the request specifies an encoding', async () => {
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'x/y z+é', Body: '' }));
  const { keys, EncodingType } = await listObjects({ Prefix: 'x/', EncodingType: 'url' });
  expect({ keys, EncodingType }).toEqual({ keys: ['x/y+z%2B%C3%A9'], EncodingType: 'url' });
});

it.each([
  ['an invalid token', { ContinuationToken: 'none' }],
  ['a token of another shape', { ContinuationToken: Buffer.from('["key",1]').toString('base64url') }],
  ['a negative page size', { MaxKeys: -1 }],
  ['an unknown encoding', { EncodingType: 'rot13' as 'url' }],
])('a listing with %s is refused', async (_, request) => {
  await expect(captureRefusal(listObjects(request))).resolves.toEqual({ name: 'InvalidArgument', status: 400 });
});

function buildInput(request: Partial<ListObjectsV2CommandInput>): ListObjectsV2CommandInput {
  return { Bucket: BUCKET, ...request };
}

async function listObjects(request: Partial<ListObjectsV2CommandInput>) {
  const answer = await s3.send(new ListObjectsV2Command(buildInput(request)));
  return {
    ...answer,
    keys: (answer.Contents ?? []).map(({ Key }) => Key ?? ''),
    prefixes: (answer.CommonPrefixes ?? []).map(({ Prefix }) => Prefix ?? ''),
  };
}

/** Keys and prefixes of all pages, each page sorted as S3 would show it. */
async function listAllKeys(request: Partial<ListObjectsV2CommandInput>): Promise<string[]> {
  const seen: string[] = [];
  let ContinuationToken: string | undefined;
  do {
    const page = await listObjects({ ...request, ContinuationToken });
    expect(page.KeyCount).toBeLessThanOrEqual(request.MaxKeys ?? 1000);
    seen.push(...[...page.keys, ...page.prefixes].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    ContinuationToken = page.NextContinuationToken;
    expect(page.IsTruncated).toBe(ContinuationToken !== undefined);
  } while (ContinuationToken);
  return seen;
}
