import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { signText, checkSignature } from './signature';

const now = new Date('2026-03-02T09:00:00Z');
const t = now.getTime() / 1000;

describe('a signature', () => {
  it('a signature is the HMAC-SHA256 of time, dot and body, keyed with the secret’s text', () => {
    const expected = createHmac('sha256', 'mss_secret').update(`${t}.{"a":1}`).digest('hex');
    expect(signText(['mss_secret'], '{"a":1}', now)).toBe(`t=${t},v1=${expected}`);
  });

  it('a signature is valid for its own body and for no other', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (body, other) => {
        const header = signText(['s'], Buffer.from(body), now);
        expect(checkSignature(['s'], header, Buffer.from(body), now)).toBe('valid');
        if (!Buffer.from(body).equals(Buffer.from(other)))
          expect(checkSignature(['s'], header, Buffer.from(other), now)).toBe('wrong');
      }),
    );
  });

  it('a signature by the old or the new secret is accepted while secrets rotate', () => {
    expect(checkSignature(['new', 'old'], signText(['old'], 'x', now), 'x', now)).toBe('valid');
    expect(checkSignature(['old'], signText(['new', 'old'], 'x', now), 'x', now)).toBe('valid');
    expect(checkSignature(['new'], signText(['old'], 'x', now), 'x', now)).toBe('wrong');
  });

  it('a signature is valid for five minutes before and after its time', () => {
    const header = signText(['s'], 'x', now);
    const checkSignatureAt = (seconds: number) =>
      checkSignature(['s'], header, 'x', new Date(now.getTime() + seconds * 1000));
    expect([checkSignatureAt(300), checkSignatureAt(-300), checkSignatureAt(301), checkSignatureAt(-301)]).toEqual([
      'valid',
      'valid',
      'expired',
      'expired',
    ]);
  });

  it('a signature header may contain eight signatures', () => {
    const signWithOldSecrets = (count: number) => signText([...Array<string>(count - 1).fill('old'), 's'], 'x', now);
    expect(checkSignature(['s'], signWithOldSecrets(8), 'x', now)).toBe('valid');
    expect(checkSignature(['s'], signWithOldSecrets(9), 'x', now)).toBe('malformed');
  });

  it.each([
    undefined,
    '',
    't=1',
    'v1=aa',
    `t=${t},v1=zz`,
    `t=abc,v1=${'a'.repeat(64)}`,
    `t=${t}`,
    `t=${t},${'v1='.repeat(3)}`,
  ])('the signature header %p is reported as missing or malformed', (header) =>
    expect(['missing', 'malformed']).toContain(checkSignature(['s'], header, 'x', now)),
  );

  it('a signature is wrong if the time in its header has been changed', () => {
    const [, v1] = signText(['s'], 'x', now).split(',');
    expect(checkSignature(['s'], `t=${t + 1},${v1}`, 'x', now)).toBe('wrong');
  });
});
