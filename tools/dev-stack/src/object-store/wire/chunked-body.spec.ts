import { decodeAwsChunked, type ChunkedBodyOptions } from './chunked-body';
import { signingKey } from './signature';

/** The examples of the S3 documentation: 65 KiB of `a`, in chunks of 64 KiB and 1 KiB. */
const KEY = signingKey('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', {
  date: '20130524',
  region: 'us-east-1',
  service: 's3',
});
const SIGNING = { key: KEY, timestamp: '20130524T000000Z', scope: '20130524/us-east-1/s3/aws4_request' };
const SIGNED = {
  signing: { ...SIGNING, previousSignature: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9' },
};
const SIGNED_BODY = exampleBody([
  'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
  '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
  'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
]);
const SIGNED_TRAILER = {
  signing: { ...SIGNING, previousSignature: '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e' },
  trailerName: 'x-amz-checksum-crc32c',
};
const TRAILER_SIGNATURE = 'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435';
const SIGNED_TRAILER_BODY = exampleBody(
  [
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
  ],
  `x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:${TRAILER_SIGNATURE}\r\n`,
);
const UNSIGNED = { trailerName: 'x-amz-checksum-crc32' };

it('decodes the documented signed body, however it is cut into packets', async () => {
  for (const packetBytes of [1000, 65_536, SIGNED_BODY.length]) {
    await expect(decode(SIGNED_BODY, SIGNED, packetBytes)).resolves.toEqual({ length: 66_560, trailer: undefined });
  }
});

it('decodes the documented signed body with a signed trailer', async () => {
  await expect(decode(SIGNED_TRAILER_BODY, SIGNED_TRAILER, 999)).resolves.toEqual({
    length: 66_560,
    trailer: 'sOO8/Q==',
  });
});

it('decodes a body that arrives byte by byte', async () => {
  await expect(decode('3\r\nabc\r\n0\r\nx-amz-checksum-crc32: value \r\n\r\n', UNSIGNED, 1)).resolves.toEqual({
    length: 3,
    trailer: 'value',
  });
});

it.each<[string, string, ChunkedBodyOptions, string]>([
  ['a changed byte in a signed chunk', SIGNED_BODY.replace('\r\na', '\r\nb'), SIGNED, 'SignatureDoesNotMatch'],
  ['a changed chunk signature', SIGNED_BODY.replace('ad80c7', 'ad80c8'), SIGNED, 'SignatureDoesNotMatch'],
  ['a dropped signed chunk', SIGNED_BODY.replace(/400;[^]*?\r\n[^]*?\r\n/, ''), SIGNED, 'SignatureDoesNotMatch'],
  ['another request’s chunks', SIGNED_BODY, { signing: SIGNED_TRAILER.signing }, 'SignatureDoesNotMatch'],
  ['an unsigned chunk among signed ones', '0\r\n\r\n', SIGNED, 'InvalidRequest'],
  ['a signed chunk among unsigned ones', `0;chunk-signature=${'0'.repeat(64)}\r\n\r\n`, {}, 'InvalidRequest'],
  ['a changed trailer', SIGNED_TRAILER_BODY.replace('sOO8', 'sOO9'), SIGNED_TRAILER, 'SignatureDoesNotMatch'],
  [
    'a signed body whose trailer is not signed',
    SIGNED_TRAILER_BODY.replace(/x-amz-trailer-signature.*\r\n/, ''),
    SIGNED_TRAILER,
    'MalformedTrailerError',
  ],
  ['a missing trailer', '0\r\n\r\n', UNSIGNED, 'MalformedTrailerError'],
  ['another trailer', '0\r\nx-amz-checksum-sha1:AAAA\r\n\r\n', UNSIGNED, 'MalformedTrailerError'],
  ['a second trailer', '0\r\nx-amz-checksum-crc32:A\r\nx-amz-meta-a:b\r\n\r\n', UNSIGNED, 'MalformedTrailerError'],
  ['endless trailers', `0\r\n${'a:b\r\n'.repeat(99)}`, UNSIGNED, 'MalformedTrailerError'],
  ['a body that ends in the middle of a chunk', '5\r\nabc', {}, 'IncompleteBody'],
  ['a body without its last chunk', '3\r\nabc\r\n', {}, 'IncompleteBody'],
  ['a body without the line after its last chunk', '3\r\nabc\r\n0\r\n', {}, 'IncompleteBody'],
  ['an empty body', '', {}, 'IncompleteBody'],
  ['a chunk longer than it says', '3\r\nabcd\r\n0\r\n\r\n', {}, 'InvalidRequest'],
  ['bytes after the end', '0\r\n\r\n3\r\nabc\r\n', {}, 'InvalidRequest'],
  ['a size that is no number', 'zz\r\nabc\r\n0\r\n\r\n', {}, 'InvalidRequest'],
  ['a negative size', '-3\r\nabc\r\n0\r\n\r\n', {}, 'InvalidRequest'],
  ['an endless size line', '0'.repeat(5000), {}, 'InvalidRequest'],
  ['a small chunk before the last', '3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n', {}, 'InvalidChunkSizeError'],
])('refuses %s', async (_, body, options, code) => {
  await expect(decode(body, options, 4096)).rejects.toMatchObject({ code });
});

it('lets go of the stream when it refuses, so that the connection can be drained', async () => {
  let released = false;
  async function* wire() {
    try {
      for (;;) yield Buffer.from('not a chunk\r\n');
    } finally {
      released = true;
    }
  }
  await expect(decodeAwsChunked(wire(), {}).next()).rejects.toMatchObject({ code: 'InvalidRequest' });
  expect(released).toBe(true);
});

async function decode(body: string, options: ChunkedBodyOptions, packetBytes: number) {
  let trailer: string | undefined;
  let length = 0;
  const onTrailer = (value: string) => {
    trailer = value;
  };
  for await (const chunk of decodeAwsChunked(packets(body, packetBytes), { ...options, onTrailer })) {
    length += chunk.length;
  }
  return { length, trailer };
}

async function* packets(body: string, packetBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += packetBytes) yield Buffer.from(body.slice(at, at + packetBytes), 'latin1');
}

function exampleBody(signatures: [string, string, string], trailer = ''): string {
  const [first, second, last] = signatures.map((signature) => `;chunk-signature=${signature}\r\n`);
  return `10000${first}${'a'.repeat(65_536)}\r\n400${second}${'a'.repeat(1024)}\r\n0${last}${trailer}\r\n`;
}
