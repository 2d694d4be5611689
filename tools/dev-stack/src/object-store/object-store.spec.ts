import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
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

let fixture: Fixture;
let s3: S3Client;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz';

beforeAll(async () => {
  fixture = await startFixture();
  s3 = fixture.createClient();
});

afterAll(() => fixture.close());

describe('put, get, head and delete', () => {
  it('the object store returns the bytes and every header that was put', async () => {
    const put = await s3.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        Key: 'whole.txt',
        Body: ALPHABET,
        ContentType: 'text/plain; charset=utf-8',
        CacheControl: 'max-age=60',
        ContentDisposition: 'attachment; filename="whole.txt"',
        ContentEncoding: 'identity',
        ContentLanguage: 'en',
        Metadata: { 'run-id': '42', note: 'two  spaces' },
      }),
    );
    const etag = `"${createHash('md5').update(ALPHABET).digest('hex')}"`;
    expect(put.ETag).toBe(etag);
    const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'whole.txt' }));
    await expect(got.Body?.transformToString()).resolves.toBe(ALPHABET);
    const expected = {
      ETag: etag,
      ContentLength: 26,
      ContentType: 'text/plain; charset=utf-8',
      CacheControl: 'max-age=60',
      ContentDisposition: 'attachment; filename="whole.txt"',
      ContentEncoding: 'identity',
      ContentLanguage: 'en',
      AcceptRanges: 'bytes',
      Metadata: { 'run-id': '42', note: 'two  spaces' },
    };
    expect(got).toMatchObject(expected);
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'whole.txt' }));
    expect(head).toMatchObject(expected);
    expect(head.LastModified).toEqual(got.LastModified);
  });

  it('the object store stores an empty object', async () => {
    await putObject('empty', '');
    const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'empty' }));
    expect(got).toMatchObject({ ContentLength: 0, ContentType: 'application/octet-stream' });
    await expect(got.Body?.transformToString()).resolves.toBe('');
  });

  it('the object store replaces an object completely, including its headers', async () => {
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'replaced', Body: 'old', Metadata: { a: '1' } }));
    await putObject('replaced', 'newer');
    const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'replaced' }));
    expect(got.Metadata).toEqual({});
    await expect(got.Body?.transformToString()).resolves.toBe('newer');
  });

  it('the object store deletes an object, and succeeds if it is already deleted', async () => {
    await putObject('deleted', 'x');
    for (let time = 0; time < 2; time += 1) {
      const answer = await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'deleted' }));
      expect(answer.$metadata.httpStatusCode).toBe(204);
      await expect(objectExists('deleted')).resolves.toBe(false);
    }
  });

  it('a missing key or bucket is answered with 404, without a body on HEAD', async () => {
    await expect(captureRefusal(s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'none' })))).resolves.toEqual({
      name: 'NoSuchKey',
      status: 404,
    });
    for (const command of [
      new GetObjectCommand({ Bucket: 'no-such-bucket', Key: 'none' }),
      new PutObjectCommand({ Bucket: 'no-such-bucket', Key: 'none', Body: 'x' }),
    ]) {
      await expect(captureRefusal(s3.send(command as GetObjectCommand))).resolves.toEqual({
        name: 'NoSuchBucket',
        status: 404,
      });
    }
    const head = await sendSignedRequest({ method: 'HEAD', path: `/${BUCKET}/none` });
    expect(head).toMatchObject({ status: 404, body: '' });
    const get = await sendSignedRequest({ method: 'GET', path: `/${BUCKET}/none` });
    expect(get.headers['content-type']).toBe('application/xml');
    expect(get.body).toContain(`<RequestId>${String(get.headers['x-amz-request-id'])}</RequestId>`);
  });
});

describe('bodies', () => {
  it.each([
    ['a wrong Content-MD5', { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, 'BadDigest'],
    ['an invalid Content-MD5', { 'content-md5': 'AAAA' }, 'InvalidDigest'],
    ['a checksum', { 'x-amz-checksum-crc32': 'AAAAAA==' }, 'NotImplemented'],
    ['a chunked body', { 'x-amz-decoded-content-length': '3' }, 'NotImplemented'],
  ])('the object store refuses %s and retains the old object', async (_, headers: Record<string, string>, code) => {
    await putObject('checked', 'old');
    const answer = await sendSignedRequest({ method: 'PUT', path: `/${BUCKET}/checked`, headers, body: 'new' });
    expect(answer.code).toBe(code);
    await expect(readObject('checked')).resolves.toBe('old');
    await expect(listFilesBelow(`${fixture.dataDir}/temp`)).resolves.toEqual([]);
  });

  it('the object store refuses a body whose hash differs from the signed one', async () => {
    const signed = signRawRequest({
      endpoint: fixture.store.endpoint,
      method: 'PUT',
      path: `/${BUCKET}/hashed`,
      body: 'new',
    });
    const answer = await sendRawRequest({ ...signed, body: 'now' });
    expect(answer).toMatchObject({ status: 400, code: 'XAmzContentSHA256Mismatch' });
    await expect(objectExists('hashed')).resolves.toBe(false);
  });

  it('the object store refuses a body in a request that must not have one', async () => {
    const answer = await sendSignedRequest({ method: 'DELETE', path: `/${BUCKET}/whole.txt`, body: 'surprise' });
    expect(answer).toMatchObject({ status: 400, code: 'UnexpectedContent' });
  });
});

describe('ranges', () => {
  beforeAll(() => putObject('range', ALPHABET));

  it.each([
    ['bytes=0-0', 'a', 'bytes 0-0/26'],
    ['bytes=3-5', 'def', 'bytes 3-5/26'],
    ['bytes=24-', 'yz', 'bytes 24-25/26'],
    ['bytes=24-999', 'yz', 'bytes 24-25/26'],
    ['bytes=-3', 'xyz', 'bytes 23-25/26'],
    ['bytes=-999', ALPHABET, 'bytes 0-25/26'],
  ])('the object store returns exactly the bytes of the range %s', async (Range, bytes, ContentRange) => {
    const got = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'range', Range }));
    expect(got).toMatchObject({ ContentRange, ContentLength: bytes.length, $metadata: { httpStatusCode: 206 } });
    await expect(got.Body?.transformToString()).resolves.toBe(bytes);
  });

  it.each([['bytes=26-'], ['bytes=26-30'], ['bytes=-0']])(
    'the object store refuses the range %s, which contains no byte',
    async (Range) => {
      await expect(
        captureRefusal(s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'range', Range }))),
      ).resolves.toEqual({
        name: 'InvalidRange',
        status: 416,
      });
    },
  );

  it.each([['bytes=0-1,4-5'], ['bytes=5-3'], ['lines=1-2'], ['bytes=-'], ['bytes=a-b']])(
    'the object store returns the whole object for the range %s, as S3 does',
    async (range) => {
      const answer = await sendSignedRequest({ method: 'GET', path: `/${BUCKET}/range`, headers: { range } });
      expect(answer).toMatchObject({ status: 200, body: ALPHABET });
    },
  );

  it('the object store returns the whole object if If-Range does not match', async () => {
    const headers = { range: 'bytes=3-5', 'if-range': '"another"' };
    await expect(sendSignedRequest({ method: 'GET', path: `/${BUCKET}/range`, headers })).resolves.toMatchObject({
      status: 200,
    });
  });
});

describe('conditions', () => {
  const etag = `"${createHash('md5').update('x').digest('hex')}"`;
  const [past, future] = [new Date(Date.now() - 60_000), new Date(Date.now() + 60_000)];
  beforeEach(() => putObject('condition', 'x'));

  it.each([
    ['a read with If-Match and the etag of the object succeeds', { IfMatch: etag }, 200],
    ['a read with If-Match and another etag is refused with 412', { IfMatch: '"0"' }, 412],
    ['a read with If-None-Match and the etag of the object is answered with 304', { IfNoneMatch: etag }, 304],
    ['a read with If-None-Match and another etag succeeds', { IfNoneMatch: '"0"' }, 200],
    ['a read with If-Modified-Since before the last change succeeds', { IfModifiedSince: past }, 200],
    ['a read with If-Modified-Since after the last change is answered with 304', { IfModifiedSince: future }, 304],
    ['a read with If-Unmodified-Since before the last change is refused with 412', { IfUnmodifiedSince: past }, 412],
    [
      'a read with a matching If-Match succeeds although If-Unmodified-Since does not match',
      { IfMatch: etag, IfUnmodifiedSince: past },
      200,
    ],
  ])('%s', async (_, condition, status) => {
    const answer = s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'condition', ...condition }));
    const actual = status === 200 ? (await answer).$metadata.httpStatusCode : (await captureRefusal(answer)).status;
    expect(actual).toBe(status);
  });

  it('a put with If-Match overwrites only the version that it specifies', async () => {
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'condition', Body: 'y', IfMatch: etag }));
    const again = s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'condition', Body: 'z', IfMatch: etag }));
    await expect(captureRefusal(again)).resolves.toEqual({ name: 'PreconditionFailed', status: 412 });
    await expect(readObject('condition')).resolves.toBe('y');
    const absent = s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'not there', Body: 'z', IfMatch: etag }));
    await expect(captureRefusal(absent)).resolves.toEqual({ name: 'NoSuchKey', status: 404 });
  });

  it('a delete with If-Match deletes only the version that it specifies', async () => {
    const wrong = s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'condition', IfMatch: '"0"' }));
    await expect(captureRefusal(wrong)).resolves.toEqual({ name: 'PreconditionFailed', status: 412 });
    await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'condition', IfMatch: etag }));
    await expect(objectExists('condition')).resolves.toBe(false);
  });

  it('exactly one of twenty racing writers with If-None-Match creates a key', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, (_, writer) =>
        s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'race', Body: `writer ${writer}`, IfNoneMatch: '*' })),
      ),
    );
    const winners = answers.flatMap((answer, writer) => (answer.status === 'fulfilled' ? [writer] : []));
    expect(winners).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ name: 'PreconditionFailed' });
    }
    await expect(readObject('race')).resolves.toBe(`writer ${winners[0]}`);
    await expect(listFilesBelow(`${fixture.dataDir}/temp`)).resolves.toEqual([]);
  });
});

describe('copies', () => {
  beforeAll(() =>
    s3.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        Key: 'source/é +%.txt',
        Body: ALPHABET,
        ContentType: 'text/plain',
        Metadata: { a: '1' },
      }),
    ),
  );
  const CopySource = `${BUCKET}/${encodeURIComponent('source/é +%.txt')}`;

  it('the object store copies bytes and headers to another bucket', async () => {
    const copy = await s3.send(new CopyObjectCommand({ Bucket: OTHER_BUCKET, Key: 'copy', CopySource }));
    const got = await s3.send(new GetObjectCommand({ Bucket: OTHER_BUCKET, Key: 'copy' }));
    expect(got).toMatchObject({ ETag: copy.CopyObjectResult?.ETag, ContentType: 'text/plain', Metadata: { a: '1' } });
    await expect(got.Body?.transformToString()).resolves.toBe(ALPHABET);
  });

  it('the object store copies only the bytes if the headers are replaced', async () => {
    await s3.send(
      new CopyObjectCommand({
        Bucket: BUCKET,
        Key: 'copy',
        CopySource,
        MetadataDirective: 'REPLACE',
        Metadata: { b: '2' },
      }),
    );
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'copy' }));
    expect(head).toMatchObject({ Metadata: { b: '2' }, ContentLength: 26 });
  });

  it.each([
    ['onto the same key without a change', { Bucket: BUCKET, Key: 'source/é +%.txt', CopySource }, 'InvalidRequest'],
    ['from a missing key', { Bucket: BUCKET, Key: 'c', CopySource: `${BUCKET}/none` }, 'NoSuchKey'],
    ['from a missing bucket', { Bucket: BUCKET, Key: 'c', CopySource: 'no-such-bucket/none' }, 'NoSuchBucket'],
    [
      'from a path outside the store',
      { Bucket: BUCKET, Key: 'c', CopySource: '../../etc/passwd' },
      'InvalidBucketName',
    ],
    ['of an object version', { Bucket: BUCKET, Key: 'c', CopySource: `${CopySource}?versionId=1` }, 'NotImplemented'],
    [
      'whose source has another etag than required',
      { Bucket: BUCKET, Key: 'c', CopySource, CopySourceIfMatch: '"0"' },
      'PreconditionFailed',
    ],
    ['over a key that exists', { Bucket: BUCKET, Key: 'copy', CopySource, IfNoneMatch: '*' }, 'PreconditionFailed'],
  ])('the object store refuses a copy %s', async (_, input, name) => {
    await expect(captureRefusal(s3.send(new CopyObjectCommand(input)))).resolves.toMatchObject({ name });
    await expect(objectExists('c')).resolves.toBe(false);
  });
});

describe('buckets', () => {
  it('the object store creates, lists and finds buckets', async () => {
    await s3.send(new CreateBucketCommand({ Bucket: 'made-later' }));
    await s3.send(new HeadBucketCommand({ Bucket: 'made-later' }));
    const { Buckets } = await s3.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual([BUCKET, 'made-later', OTHER_BUCKET]);
    await expect(captureRefusal(s3.send(new HeadBucketCommand({ Bucket: 'never-made' })))).resolves.toMatchObject({
      status: 404,
    });
  });

  it.each([['ab'], ['Upper'], ['under_score'], ['a..b'], ['192.168.0.1'], ['-dash'], ['dash-'], ['xn--a'], ['%2e%2e']])(
    'the object store refuses the bucket name %s',
    async (name) => {
      const answer = await sendSignedRequest({ method: 'PUT', path: `/${name}` });
      expect(answer).toMatchObject({ status: 400, code: 'InvalidBucketName' });
    },
  );
});

describe('unsupported requests', () => {
  it.each([
    ['GET', `/${BUCKET}`, {}],
    ['GET', `/${BUCKET}?acl`, {}],
    ['GET', `/${BUCKET}?list-type=2&fetch-owner=true`, {}],
    ['GET', `/${BUCKET}/whole.txt?versionId=1`, {}],
    ['GET', `/${BUCKET}/whole.txt?tagging`, {}],
    ['DELETE', `/${BUCKET}`, {}],
    ['POST', `/${BUCKET}`, {}],
    ['POST', `/${BUCKET}?delete`, {}],
    ['POST', `/${BUCKET}/whole.txt?uploads`, {}],
    ['PATCH', `/${BUCKET}/whole.txt`, {}],
    ['PUT', `/${BUCKET}/whole.txt`, { 'x-amz-acl': 'public-read' }],
    ['PUT', `/${BUCKET}/whole.txt`, { 'x-amz-server-side-encryption': 'AES256' }],
    ['PUT', `/${BUCKET}/whole.txt`, { 'if-none-match': '"0"' }],
    ['PUT', `/${BUCKET}/whole.txt?partNumber=1&uploadId=1`, { 'x-amz-copy-source': `${BUCKET}/range` }],
  ])(
    'the unsupported request %s %s %o is answered with NotImplemented',
    async (method, path, headers: Record<string, string>) => {
      await expect(sendSignedRequest({ method, path, headers, body: '' })).resolves.toMatchObject({
        status: 501,
        code: 'NotImplemented',
      });
    },
  );

  it('an unsupported request of the SDK is answered with NotImplemented', async () => {
    const answer = s3.send(new PutBucketPolicyCommand({ Bucket: BUCKET, Policy: '{}' }));
    await expect(captureRefusal(answer)).resolves.toEqual({ name: 'NotImplemented', status: 501 });
  });
});

describe('limits', () => {
  it('the object store refuses a put of more than 5 GiB before its body is sent', async () => {
    const headers = { 'content-length': `${5 * 1024 ** 3 + 1}`, expect: '100-continue' };
    const signed = signRawRequest(
      { endpoint: fixture.store.endpoint, method: 'PUT', path: `/${BUCKET}/large`, headers },
      { payloadHash: 'UNSIGNED-PAYLOAD', unsigned: ['expect'] },
    );
    await expect(sendRawRequest(signed)).resolves.toMatchObject({ status: 400, code: 'EntityTooLarge' });
  });

  it('the object store refuses a put without a length', async () => {
    const signed = signRawRequest(
      {
        endpoint: fixture.store.endpoint,
        method: 'PUT',
        path: `/${BUCKET}/large`,
        headers: { 'transfer-encoding': 'chunked' },
      },
      { payloadHash: 'UNSIGNED-PAYLOAD' },
    );
    await expect(sendRawRequest({ ...signed, body: 'x' })).resolves.toMatchObject({
      status: 411,
      code: 'MissingContentLength',
    });
  });

  it('the object store refuses more than 2 KiB of user metadata', async () => {
    const Metadata = { a: 'x'.repeat(2048) };
    const answer = s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'meta', Body: 'x', Metadata }));
    await expect(captureRefusal(answer)).resolves.toMatchObject({ name: 'MetadataTooLarge' });
  });
});

function putObject(Key: string, Body: string) {
  return s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body }));
}

async function readObject(Key: string): Promise<string | undefined> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return Body?.transformToString();
}

async function objectExists(Key: string): Promise<boolean> {
  const head = s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key }));
  return head.then(
    () => true,
    (error: { name: string }) => {
      if (error.name === 'NotFound') return false;
      throw error;
    },
  );
}

function sendSignedRequest(request: { method: string; path: string; headers?: Record<string, string>; body?: string }) {
  return sendRawRequest(signRawRequest({ endpoint: fixture.store.endpoint, ...request }));
}
