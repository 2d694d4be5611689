import { parseTotpSecret, computeTotpCode } from './totp';

const encodeAsBase32 = (text: string) => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => letters[parseInt(five.padEnd(5, '0'), 2)]).join('');
};
const seed = '1234567890';
const secrets = { SHA1: seed.repeat(2), SHA256: seed.repeat(3) + '12', SHA512: seed.repeat(6) + '1234' };

describe('a TOTP', () => {
  // Test vectors of RFC 6238, appendix B.
  it.each([
    [59, '94287082', '46119246', '90693936'],
    [1111111109, '07081804', '68084774', '25091201'],
    [1111111111, '14050471', '67062674', '99943326'],
    [1234567890, '89005924', '91819424', '93441116'],
    [2000000000, '69279037', '90698825', '38618901'],
    [20000000000, '65353130', '77737706', '47863826'],
  ])('the TOTP codes of the second %d are those of RFC 6238', (second, ...codes) => {
    const found = Object.entries(secrets).map(([algorithm, secret]) => {
      const totp = parseTotpSecret(
        `otpauth://totp/Payer:us?secret=${encodeAsBase32(secret)}&algorithm=${algorithm}&digits=8`,
      );
      return computeTotpCode(totp, Math.floor(second / 30));
    });
    expect(found).toEqual(codes);
  });

  it('a TOTP secret is read from base32 in any notation, by default with 6 digits and 30 seconds', () => {
    const plain = parseTotpSecret('gezd gnbv-gy3t qojq GEZDGNBVGY3TQOJQ==');
    expect([plain.secret.toString(), plain.digits, plain.periodSeconds]).toEqual([secrets.SHA1, 6, 30]);
    expect(computeTotpCode(plain, 1)).toBe('287082');
    expect(parseTotpSecret(`otpauth://totp/x?secret=${encodeAsBase32(seed)}&period=60&digits=7`)).toMatchObject({
      digits: 7,
      periodSeconds: 60,
    });
  });

  it.each([
    ...['', 'short', 'no base 32!', 'otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQ', 'otpauth://totp/x', 'otpauth:'],
    ...['digits=9', 'digits=x', 'period=0', 'period=1.5', 'algorithm=MD5'].map(
      (wrong) => `otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ&${wrong}`,
    ),
  ])('a TOTP secret cannot be read from %p', (value) => {
    expect(() => parseTotpSecret(value)).toThrow();
  });
});
