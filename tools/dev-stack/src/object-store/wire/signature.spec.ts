import {
  buildCanonicalRequest,
  EMPTY_SHA256,
  buildStringToSign,
  signString,
  deriveSigningKey,
  type SignedRequest,
} from './signature';

/** From AWS's own SigV4 test suite. Each request covers one peculiarity of headers or queries. */
const SUITE_SCOPE = { date: '20150830', region: 'us-east-1', service: 'service' };
const SUITE: { name: string; request: Partial<SignedRequest>; signature: string }[] = [
  {
    name: 'get-vanilla',
    request: {},
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  {
    name: 'get-unreserved',
    request: { rawPath: '/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' },
    signature: '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  },
  {
    name: 'get-utf8',
    request: { rawPath: '/%E1%88%B4' },
    signature: '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85',
  },
  {
    name: 'get-vanilla-empty-query-key',
    request: { query: [['Param1', 'value1']] },
    signature: 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  },
  {
    name: 'get-vanilla-query-order-key',
    request: {
      query: [
        ['Param1', 'value2'],
        ['Param1', 'Value1'],
      ],
    },
    signature: 'eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    request: {
      query: [
        ['Param2', 'value2'],
        ['Param1', 'value1'],
      ],
    },
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-vanilla-query-order-value',
    request: {
      query: [
        ['Param1', 'value2'],
        ['Param1', 'value1'],
      ],
    },
    signature: '5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694',
  },
  {
    name: 'get-header-key-duplicate',
    request: buildSuiteRequest({ 'my-header1': 'value2,value2,value1' }),
    signature: 'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  },
  {
    name: 'get-header-value-order',
    request: buildSuiteRequest({ 'my-header1': 'value4,value1,value3,value2' }),
    signature: '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  },
  {
    name: 'get-header-value-trim',
    request: buildSuiteRequest({ 'my-header1': ' value1', 'my-header2': ' "a   b   c"' }),
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
];

/** From the S3 documentation of SigV4: requests with a single chunk, and a presigned one. */
const S3_SCOPE = { date: '20130524', region: 'us-east-1', service: 's3' };
const S3_EXAMPLES: { name: string; request: Omit<SignedRequest, 'signedHeaders'>; signature: string }[] = [
  {
    name: 'GET Object with a range',
    request: {
      method: 'GET',
      rawPath: '/test.txt',
      query: [],
      headers: buildS3Headers({ range: 'bytes=0-9', 'x-amz-content-sha256': EMPTY_SHA256 }),
      payloadHash: EMPTY_SHA256,
    },
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    name: 'PUT Object with a dollar in its key',
    request: {
      method: 'PUT',
      rawPath: '/test%24file.text',
      query: [],
      headers: buildS3Headers({
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      }),
      payloadHash: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    },
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    name: 'GET Bucket lifecycle, a parameter without a value',
    request: {
      method: 'GET',
      rawPath: '/',
      query: [['lifecycle', '']],
      headers: buildS3Headers({ 'x-amz-content-sha256': EMPTY_SHA256 }),
      payloadHash: EMPTY_SHA256,
    },
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    name: 'GET Bucket (list objects)',
    request: {
      method: 'GET',
      rawPath: '/',
      query: [
        ['max-keys', '2'],
        ['prefix', 'J'],
      ],
      headers: buildS3Headers({ 'x-amz-content-sha256': EMPTY_SHA256 }),
      payloadHash: EMPTY_SHA256,
    },
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
  {
    name: 'presigned GET',
    request: {
      method: 'GET',
      rawPath: '/test.txt',
      query: [
        ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
        ['X-Amz-Credential', 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request'],
        ['X-Amz-Date', '20130524T000000Z'],
        ['X-Amz-Expires', '86400'],
        ['X-Amz-SignedHeaders', 'host'],
        ['X-Amz-Signature', 'not part of what is signed'],
      ],
      headers: new Map([['host', 'examplebucket.s3.amazonaws.com']]),
      payloadHash: 'UNSIGNED-PAYLOAD',
    },
    signature: 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  },
];

it.each(SUITE)('the signature of the AWS test suite request $name equals that of AWS', ({ request, signature }) => {
  const headers = request.headers ?? buildSuiteHeaders({});
  const canonical = buildCanonicalRequest({
    method: 'GET',
    rawPath: '/',
    query: [],
    payloadHash: EMPTY_SHA256,
    ...request,
    headers,
    signedHeaders: [...headers.keys()].sort(),
  });
  const key = deriveSigningKey('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', SUITE_SCOPE);
  const stringToSign = buildStringToSign({
    timestamp: '20150830T123600Z',
    scope: SUITE_SCOPE,
    canonicalRequest: canonical,
  });
  expect(signString(key, stringToSign)).toBe(signature);
});

it.each(S3_EXAMPLES)(
  'the signature of the S3 documentation example equals that of S3: $name',
  ({ request, signature }) => {
    const canonical = buildCanonicalRequest({ ...request, signedHeaders: [...request.headers.keys()].sort() });
    const key = deriveSigningKey('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', S3_SCOPE);
    const stringToSign = buildStringToSign({
      timestamp: '20130524T000000Z',
      scope: S3_SCOPE,
      canonicalRequest: canonical,
    });
    expect(signString(key, stringToSign)).toBe(signature);
  },
);

function buildSuiteRequest(headers: Record<string, string>): Partial<SignedRequest> {
  return { headers: buildSuiteHeaders(headers) };
}

function buildSuiteHeaders(headers: Record<string, string>): Map<string, string> {
  return new Map(Object.entries({ host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', ...headers }));
}

function buildS3Headers(headers: Record<string, string>): Map<string, string> {
  return new Map(
    Object.entries({ host: 'examplebucket.s3.amazonaws.com', 'x-amz-date': '20130524T000000Z', ...headers }),
  );
}
