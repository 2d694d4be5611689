import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { sign, verify } from './signature';

const now = new Date('2026-03-02T09:00:00Z');
const t = now.getTime() / 1000;

describe('a signature', () => {
  it('a signature is the HMAC-SHA256 of time, dot and body, keyed with the secret’s text', () => {
    const expected = createHmac('sha256', 'mss_secret').update(`${t}.{"a":1}`).digest('hex');
    expect(sign(['mss_secret'], '{"a":1}', now)).toBe(`t=${t},v1=${expected}`);
  });

  it('a signature is valid for its own body and for no other', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (body, other) => {
        const header = sign(['s'], Buffer.from(body), now);
        expect(verify(['s'], header, Buffer.from(body), now)).toBe('valid');
        if (!Buffer.from(body).equals(Buffer.from(other)))
          expect(verify(['s'], header, Buffer.from(other), now)).toBe('wrong');
      }),
    );
  });

  it('a signature by the old or the new secret is accepted while secrets rotate', () => {
    expect(verify(['new', 'old'], sign(['old'], 'x', now), 'x', now)).toBe('valid');
    expect(verify(['old'], sign(['new', 'old'], 'x', now), 'x', now)).toBe('valid');
    expect(verify(['new'], sign(['old'], 'x', now), 'x', now)).toBe('wrong');
  });

  it('a signature is valid for five minutes before and after its time', () => {
    const header = sign(['s'], 'x', now);
    const at = (seconds: number) => verify(['s'], header, 'x', new Date(now.getTime() + seconds * 1000));
    expect([at(300), at(-300), at(301), at(-301)]).toEqual(['valid', 'valid', 'expired', 'expired']);
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
    expect(['missing', 'malformed']).toContain(verify(['s'], header, 'x', now)),
  );

  it('a signature is wrong if the time in its header was changed', () => {
    const [, v1] = sign(['s'], 'x', now).split(',');
    expect(verify(['s'], `t=${t + 1},${v1}`, 'x', now)).toBe('wrong');
  });
});
