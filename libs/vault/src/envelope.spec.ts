import { randomBytes } from 'node:crypto';
import { openEnvelope, rewrapEnvelope, sealValue } from './envelope';
import { KeyRing } from './key-ring';

const createMasterKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [old, young] = [createMasterKey('old'), createMasterKey('young')];

describe('a sealed value', () => {
  const keyRing = KeyRing.parseKeyRing(old);

  it('a sealed value opens with the associated data that it was sealed with', () => {
    for (const value of ['', 'hunter2', 'ünïcode ✓', 'x'.repeat(65_536)]) {
      expect(openEnvelope(keyRing, 'org/KEY', sealValue(keyRing, 'org/KEY', value))).toBe(value);
    }
  });

  it('a sealed value does not open with other associated data, with another key, or with any bit changed', () => {
    const envelope = sealValue(keyRing, 'org/KEY', 'hunter2');
    expect(() => openEnvelope(keyRing, 'org/OTHER', envelope)).toThrow();
    expect(() => openEnvelope(keyRing, 'other/KEY', envelope)).toThrow();
    expect(() => openEnvelope(KeyRing.parseKeyRing(createMasterKey('old')), 'org/KEY', envelope)).toThrow();
    expect(() => openEnvelope(KeyRing.parseKeyRing(young), 'org/KEY', envelope)).toThrow(
      /master key old is not in the ring/,
    );
    for (const part of ['sealed', 'wrappedKey'] as const) {
      for (let byte = 0; byte < envelope[part].length; byte += 1) {
        const tampered = Buffer.from(envelope[part]);
        tampered[byte]! ^= 1;
        expect(() => openEnvelope(keyRing, 'org/KEY', { ...envelope, [part]: tampered })).toThrow();
      }
    }
  });

  it('a sealed value differs from an earlier seal of the same value', () => {
    expect(sealValue(keyRing, 'a', 'v').sealed.equals(sealValue(keyRing, 'a', 'v').sealed)).toBe(false);
  });

  it('a sealed value can be rewrapped with the active master key, after which the old key is not needed', () => {
    const envelope = sealValue(keyRing, 'org/KEY', 'hunter2');
    const both = KeyRing.parseKeyRing(`${young},${old}`);
    const rewrapped = rewrapEnvelope(both, 'org/KEY', envelope)!;
    expect(rewrapped.masterKeyId).toBe('young');
    expect(openEnvelope(KeyRing.parseKeyRing(young), 'org/KEY', rewrapped)).toBe('hunter2');
    expect(rewrapEnvelope(both, 'org/KEY', rewrapped)).toBeNull();
  });
});

describe('the key ring', () => {
  it.each([
    ['', /key 1 does not have the form <id>/],
    ['c2hvcnQ', /key 1 does not have the form <id>/],
    ['k1:c2hvcnQ=', /k1 must be 32 bytes in base64/],
    [`${old},${old}`, /two keys share an id/],
    [`bad id:${randomBytes(32).toString('base64')}`, /the id of a key must have 1 to 32 letters/],
  ])('the key ring rejects %p without showing a key', (text, message) => {
    let thrown = '';
    try {
      KeyRing.parseKeyRing(text);
    } catch (error) {
      thrown = String(error);
    }
    expect(thrown).toMatch(message);
    const value = text.split(':').at(-1);
    if (value) expect(thrown).not.toContain(value.slice(0, 8));
  });

  it('the key ring derives the same secret for the same subject, and different secrets for different subjects', () => {
    const keyRing = KeyRing.parseKeyRing(`${young},${old}`);
    expect(keyRing.deriveKeys('p', 'a')).toEqual(keyRing.deriveKeys('p', 'a'));
    expect(keyRing.deriveKeys('p', 'a')).not.toEqual(keyRing.deriveKeys('p', 'b'));
    expect(keyRing.deriveKeys('q', 'a')).not.toEqual(keyRing.deriveKeys('p', 'a'));
    expect(keyRing.deriveKeys('p', 'a')[1]).toEqual(KeyRing.parseKeyRing(old).deriveKeys('p', 'a')[0]);
    const [first] = keyRing.deriveKeys('p', 'a');
    const others = Array.from({ length: 3000 }, (_, at) => keyRing.deriveKeys('p', String(at))[0]!.toString('hex'));
    expect(new Set(others).size).toBe(3000);
    expect(keyRing.deriveKeys('p', 'a')[0]).toEqual(first);
  });
});
