import fc from 'fast-check';
import { splitIntoLines } from './output-lines';
import { Redactor } from './redactor';

/** Reads an output that grows to each of the sizes, in the way in which a run's output is read. */
function readGrowing(output: Buffer, sizes: number[], redactor: Redactor): string[] {
  const lines: string[] = [];
  let [offset, skipping] = [0, false];
  for (const size of [...sizes.sort((a, b) => a - b), output.length]) {
    const final = size === output.length;
    const taken = splitIntoLines({ bytes: output.subarray(offset, size), skipping, final, quiet: false }, redactor);
    lines.push(...taken.lines);
    offset += taken.consumed;
    skipping = taken.skipping;
  }
  return lines;
}

describe('Redaction', () => {
  it('a secret is redacted wherever the output is cut, without changing the other text of the lines', () => {
    const secrets = ['correct-horse', 'horse-battery', 'über-geheim', 'aab', 'line one of a key\nline two of a key'];
    const fragments = fc.constantFrom(
      ...secrets,
      'a',
      'corr',
      'plain',
      '\n',
      '\r\n',
      ' ',
      'ü',
      '…',
      'aaab',
      'line one of',
    );
    fc.assert(
      fc.property(fc.array(fragments, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 6 }), (parts, cuts) => {
        const output = Buffer.from(parts.join(''));
        const redactor = new Redactor(secrets);
        const lines = readGrowing(
          output,
          cuts.map((cut) => cut % (output.length + 1)),
          redactor,
        );
        expect(lines).toEqual(readGrowing(output, [], redactor));
        const text = lines.join('');
        for (const secret of secrets) expect(text).not.toContain(secret.replaceAll('\n', ''));
      }),
      { numRuns: 500 },
    );
  });

  it('a secret that is split over lines is redacted', () => {
    const lines = readGrowing(
      Buffer.from('it is corr\nect-\r\nhorse, truly\nnext\n'),
      [12, 17, 20],
      new Redactor(['correct-horse']),
    );
    expect(lines).toEqual(['it is [redacted], truly', 'next']);
  });

  it('a secret is redacted in base64 of any surrounding text, with or without a line break', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 9 }), fc.string({ maxLength: 9 }), fc.nat(20), (before, after, at) => {
        const secret = 'a rather long secret, for base64?>~';
        const whole = Buffer.from(before + secret + after).toString('base64');
        for (const encoded of [
          whole,
          whole.replaceAll('+', '-').replaceAll('/', '_'),
          `${whole.slice(0, at)}\n${whole.slice(at)}`,
        ]) {
          const text = new Redactor([secret]).redactText(encoded);
          expect(text).toContain('[redacted]');
          // Of the secret's base64 text, only characters that also encode neighbouring bytes remain.
          expect(text.replace('[redacted]', '').replaceAll('\n', '').length).toBeLessThanOrEqual(whole.length - 46 + 4);
        }
      }),
    );
  });

  it('a secret is redacted in JSON, in a URL, in keys and in numbers', () => {
    const redactor = new Redactor(['p"w\\d&1', '4711']);
    expect(redactor.redactText(`login?password=${encodeURIComponent('p"w\\d&1')}`)).toBe('login?password=[redacted]');
    expect(redactor.redactText(JSON.stringify({ password: 'p"w\\d&1' }))).toBe('{"password":"[redacted]"}');
    expect(redactor.redactDeep({ 'p"w\\d&1': [4711, 'pin 4711', 47, null, true] })).toEqual({
      '[redacted]': ['[redacted]', 'pin [redacted]', 47, null, true],
    });
  });

  it('output is held back while its line is incomplete, or until a pause if its end may begin a secret', () => {
    const redactor = new Redactor(['secret-word']);
    const splitText = (text: string, quiet: boolean) =>
      splitIntoLines({ bytes: Buffer.from(text), skipping: false, final: false, quiet }, redactor);
    expect(splitText('begun', true)).toEqual({ lines: [], consumed: 0, skipping: false });
    expect(splitText('it ends with s\n', false).lines).toEqual([]);
    expect(splitText('it ends with s\n', true).lines).toEqual(['it ends with s']);
    expect(splitText('it ends with secret-\n', true).lines).toEqual([]);
  });

  it('an overlong line of output is cut at 16 KiB with a note instead of its rest', () => {
    const redactor = new Redactor(['secret-word']);
    const long = Buffer.from(`${'é'.repeat(100_000)}\nnext\n`);
    const lines = readGrowing(long, [1_000, 90_000, 150_000], redactor);
    expect(lines).toHaveLength(2);
    expect(Buffer.byteLength(lines[0]!)).toBeLessThanOrEqual(16 * 1024);
    expect(lines[0]).toMatch(/^é+ … \[cut: \d+ bytes\]$/);
    expect(lines[1]).toBe('next');
  });

  it('empty secrets and secrets of one character are not redacted', () => {
    expect(new Redactor(['', 'x']).redactText('x marks the spot')).toBe('x marks the spot');
  });
});
