// Long: it restarts the object store and uploads parts of many MiB.
// Short: tools/dev-stack/src/object-store/object-store.spec.ts
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type CreateMultipartUploadCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BUCKET,
  filesBelow,
  refusal,
  sendRaw,
  sha256,
  signRaw,
  startFixture,
  type Fixture,
} from './object-store.harness';

const MIB = 1024 ** 2;
const PARTS = [randomBytes(5 * MIB), randomBytes(5 * MIB + 1), randomBytes(17)];

let fixture: Fixture;
let s3: S3Client;

beforeAll(async () => {
  fixture = await startFixture();
  s3 = fixture.client();
});

afterAll(() => fixture.close());

it.each<[string, Partial<CreateMultipartUploadCommandInput>, string | undefined]>([
  ['no checksum', {}, undefined],
  ['a composite CRC32', { ChecksumAlgorithm: 'CRC32' }, 'COMPOSITE'],
  ['a CRC32 of the whole', { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }, 'FULL_OBJECT'],
  ['a composite SHA-256', { ChecksumAlgorithm: 'SHA256' }, 'COMPOSITE'],
  ['a CRC64NVME', { ChecksumAlgorithm: 'CRC64NVME' }, 'FULL_OBJECT'],
])('joins the parts, whatever order they came in, with %s', async (_, plan, type) => {
  const Key = `joined/${type}/${plan.ChecksumAlgorithm}`;
  const UploadId = await create({ Key, ContentType: 'text/plain', Metadata: { a: '1' }, ...plan });
  const parts: CompletedPart[] = [];
  for (const number of [3, 1, 2]) parts[number - 1] = await upload(Key, UploadId, number, plan);
  await expect(exists(Key)).resolves.toBe(false);
  const done = await complete(Key, UploadId, parts);
  const md5s = PARTS.map((part) => createHash('md5').update(part).digest());
  const ETag = `"${createHash('md5').update(Buffer.concat(md5s)).digest('hex')}-3"`;
  expect(done.ETag).toBe(ETag);
  const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  expect(got).toMatchObject({ ETag, ContentType: 'text/plain', Metadata: { a: '1' } });
  expect(got.ChecksumType).toBe(type);
  expect(sha256(Buffer.from((await got.Body?.transformToByteArray()) ?? []))).toBe(sha256(Buffer.concat(PARTS)));
  await expect(filesBelow(`${fixture.dataDir}/uploads`)).resolves.toEqual([]);
  await expect(refusal(complete(Key, UploadId, parts))).resolves.toMatchObject({ name: 'NoSuchUpload' });
});

it('lists the parts page by page, the last of each number', async () => {
  const UploadId = await create({ Key: 'listed' });
  for (const number of [1, 2, 3]) await upload('listed', UploadId, number);
  const replaced = await s3.send(
    new UploadPartCommand({ Bucket: BUCKET, Key: 'listed', UploadId, PartNumber: 2, Body: 'replaced' }),
  );
  const first = await s3.send(new ListPartsCommand({ Bucket: BUCKET, Key: 'listed', UploadId, MaxParts: 2 }));
  expect(first).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '2' });
  expect(first.Parts).toMatchObject([{ PartNumber: 1 }, { PartNumber: 2, Size: 8, ETag: replaced.ETag }]);
  const PartNumberMarker = first.NextPartNumberMarker;
  const rest = await s3.send(new ListPartsCommand({ Bucket: BUCKET, Key: 'listed', UploadId, PartNumberMarker }));
  expect(rest).toMatchObject({ IsTruncated: false, Parts: [{ PartNumber: 3, Size: 17 }] });
});

it('forgets an aborted upload and its parts', async () => {
  const UploadId = await create({ Key: 'aborted' });
  const part = await upload('aborted', UploadId, 3);
  await s3.send(new AbortMultipartUploadCommand({ Bucket: BUCKET, Key: 'aborted', UploadId }));
  for (const answer of [
    upload('aborted', UploadId, 1),
    complete('aborted', UploadId, [part]),
    s3.send(new ListPartsCommand({ Bucket: BUCKET, Key: 'aborted', UploadId })),
    s3.send(new AbortMultipartUploadCommand({ Bucket: BUCKET, Key: 'aborted', UploadId })),
  ]) {
    await expect(refusal(answer)).resolves.toEqual({ name: 'NoSuchUpload', status: 404 });
  }
  await expect(exists('aborted')).resolves.toBe(false);
  expect((await filesBelow(fixture.dataDir)).filter((path) => path.includes(UploadId))).toEqual([]);
});

describe('a completion', () => {
  const Key = 'judged';
  let UploadId: string;
  let parts: CompletedPart[];

  beforeAll(async () => {
    UploadId = await create({ Key });
    parts = [await upload(Key, UploadId, 1), await upload(Key, UploadId, 2), await upload(Key, UploadId, 3)];
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'old' }));
  });

  afterEach(async () => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
    await expect(Body?.transformToString()).resolves.toBe('old');
    await expect(filesBelow(`${fixture.dataDir}/temp`)).resolves.toEqual([]);
  });

  it.each<[string, () => CompletedPart[], string]>([
    ['out of order', () => [parts[1]!, parts[0]!], 'InvalidPartOrder'],
    ['with a part twice', () => [parts[0]!, parts[0]!], 'InvalidPartOrder'],
    ['with a part that never came', () => [{ PartNumber: 4, ETag: parts[0]!.ETag }], 'InvalidPart'],
    ['with the etag of another part', () => [{ PartNumber: 1, ETag: parts[1]!.ETag }], 'InvalidPart'],
    [
      'with the checksum of another part',
      () => [{ ...parts[0]!, ChecksumCRC32: parts[1]!.ChecksumCRC32 }],
      'InvalidPart',
    ],
    ['without parts', () => [], 'MalformedXML'],
  ])('is refused %s', async (_, listed, name) => {
    await expect(refusal(complete(Key, UploadId, listed()))).resolves.toMatchObject({ name });
  });

  it('is refused with a small part before the last', async () => {
    const id = await create({ Key });
    const small = [await upload(Key, id, 3), { ...(await upload(Key, id, 3)), PartNumber: 4 }];
    await s3.send(new UploadPartCommand({ Bucket: BUCKET, Key, UploadId: id, PartNumber: 4, Body: PARTS[2]! }));
    await expect(refusal(complete(Key, id, small))).resolves.toMatchObject({ name: 'EntityTooSmall' });
  });

  it('is refused for a key that must not exist, and may be tried again', async () => {
    const conditional = { IfNoneMatch: '*' };
    await expect(refusal(complete(Key, UploadId, parts, conditional))).resolves.toMatchObject({
      name: 'PreconditionFailed',
      status: 412,
    });
    await expect(s3.send(new ListPartsCommand({ Bucket: BUCKET, Key, UploadId }))).resolves.toMatchObject({
      IsTruncated: false,
    });
  });

  it('is refused with a wrong checksum of the whole', async () => {
    const plan = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;
    const id = await create({ Key, ...plan });
    const part = await upload(Key, id, 3, plan);
    const answer = complete(Key, id, [part], { ChecksumCRC32: 'AAAAAA==', ChecksumType: 'FULL_OBJECT' });
    await expect(refusal(answer)).resolves.toMatchObject({ name: 'BadDigest' });
  });
});

it('refuses a part without the checksum that its upload promised', async () => {
  const UploadId = await create({ Key: 'promised', ChecksumAlgorithm: 'SHA256' });
  await expect(refusal(upload('promised', UploadId, 3))).resolves.toMatchObject({ name: 'InvalidRequest' });
});

it('lets one of two racing completions win', async () => {
  const UploadId = await create({ Key: 'raced' });
  const part = await upload('raced', UploadId, 1);
  const answers = await Promise.allSettled([complete('raced', UploadId, [part]), complete('raced', UploadId, [part])]);
  expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await expect(exists('raced')).resolves.toBe(true);
});

it.each([['0'], ['10001'], ['-1'], ['one']])('refuses the part number %s', async (number) => {
  const UploadId = await create({ Key: 'numbers' });
  const path = `/${BUCKET}/numbers?partNumber=${number}&uploadId=${UploadId}`;
  const answer = await sendRaw(signRaw({ endpoint: fixture.store.endpoint, method: 'PUT', path, body: 'x' }));
  expect(answer).toMatchObject({ status: 400, code: 'InvalidArgument' });
});

it.each([['..'], ['../buckets'], ['%2e%2e%2fbuckets'], ['0'.repeat(32)], ['']])(
  'knows no upload called "%s"',
  async (id) => {
    const path = `/${BUCKET}/key?partNumber=1&uploadId=${id}`;
    const before = await filesBelow(fixture.dataDir);
    const answer = await sendRaw(signRaw({ endpoint: fixture.store.endpoint, method: 'PUT', path, body: 'x' }));
    expect(answer).toMatchObject({ status: 404, code: 'NoSuchUpload' });
    await expect(filesBelow(fixture.dataDir)).resolves.toEqual(before);
  },
);

it('knows an upload only under its own key', async () => {
  const UploadId = await create({ Key: 'mine' });
  await expect(refusal(upload('yours', UploadId, 1))).resolves.toMatchObject({ name: 'NoSuchUpload' });
});

it('goes on with an upload after a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'object-store-restart-'));
  const first = await startFixture({ dataDir });
  const { UploadId } = await first.client().send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key: 'long' }));
  const part = { Bucket: BUCKET, Key: 'long', UploadId };
  const one = await first.client().send(new UploadPartCommand({ ...part, PartNumber: 1, Body: PARTS[0]! }));
  await first.store.stop();
  const second = await startFixture({ dataDir });
  const two = await second.client().send(new UploadPartCommand({ ...part, PartNumber: 2, Body: PARTS[2]! }));
  const Parts = [
    { PartNumber: 1, ETag: one.ETag },
    { PartNumber: 2, ETag: two.ETag },
  ];
  await second.client().send(new CompleteMultipartUploadCommand({ ...part, MultipartUpload: { Parts } }));
  const head = await second.client().send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'long' }));
  expect(head.ContentLength).toBe(5 * MIB + 17);
  await first.close();
  await second.close();
});

async function create(request: Partial<CreateMultipartUploadCommandInput> & { Key: string }): Promise<string> {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, ...request }));
  return UploadId ?? '';
}

async function upload(
  Key: string,
  UploadId: string,
  PartNumber: number,
  { ChecksumAlgorithm }: Partial<CreateMultipartUploadCommandInput> = {},
): Promise<CompletedPart> {
  const Body = PARTS[PartNumber - 1]!;
  const answer = await s3.send(
    new UploadPartCommand({ Bucket: BUCKET, Key, UploadId, PartNumber, Body, ChecksumAlgorithm }),
  );
  const { ETag, ChecksumCRC32, ChecksumSHA256, ChecksumCRC64NVME } = answer;
  return { PartNumber, ETag, ChecksumCRC32, ChecksumSHA256, ChecksumCRC64NVME };
}

function complete(Key: string, UploadId: string, Parts: CompletedPart[], more: object = {}) {
  return s3.send(
    new CompleteMultipartUploadCommand({ Bucket: BUCKET, Key, UploadId, MultipartUpload: { Parts }, ...more }),
  );
}

function exists(Key: string): Promise<boolean> {
  return s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key })).then(
    () => true,
    () => false,
  );
}
