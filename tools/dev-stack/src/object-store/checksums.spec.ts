import { createChecksummer, promisedChecksum, type ChecksumAlgorithm } from './wire/checksums';

/** The catalogue's check values: the checksum of the nine digits. */
const CHECK_VALUES: [ChecksumAlgorithm, string][] = [
  ['CRC32', 'cbf43926'],
  ['CRC32C', 'e3069283'],
  ['CRC64NVME', 'ae8b14860a799888'],
  ['SHA1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
  ['SHA256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
];

it.each(CHECK_VALUES)('%s of the nine digits is its published check value, however they arrive', (algorithm, value) => {
  for (const split of [0, 1, 4, 9]) {
    const checksummer = createChecksummer(algorithm);
    checksummer.update(Buffer.from('123456789'.slice(0, split)));
    checksummer.update(Buffer.from('123456789'.slice(split)));
    expect(checksummer.digest().toString('hex')).toBe(value);
  }
});

it.each([
  ['two checksums', { 'x-amz-checksum-crc32': 'y/Q5Jg==', 'x-amz-checksum-crc32c': '4waSgw==' }],
  ['a checksum and a trailer', { 'x-amz-checksum-crc32': 'y/Q5Jg==', 'x-amz-trailer': 'x-amz-checksum-crc32' }],
  ['a checksum of the wrong length', { 'x-amz-checksum-crc32': 'y/Q5JjE=' }],
  ['a checksum that is not base64', { 'x-amz-checksum-crc32': 'y/Q5Jg' }],
  ['an algorithm without a checksum', { 'x-amz-sdk-checksum-algorithm': 'CRC32' }],
  [
    'an algorithm with another checksum',
    { 'x-amz-sdk-checksum-algorithm': 'SHA1', 'x-amz-checksum-crc32': 'y/Q5Jg==' },
  ],
  ['a trailer that is no checksum', { 'x-amz-trailer': 'x-amz-meta-a' }],
])('refuses %s', (_, headers: Record<string, string>) => {
  expect(() => promisedChecksum(new Map(Object.entries(headers)))).toThrow(
    expect.objectContaining({ code: 'InvalidRequest' }),
  );
});
