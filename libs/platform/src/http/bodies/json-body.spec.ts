import fc from 'fast-check';
import { parseJsonBody } from './json-body';
import { parseInSlices } from './parse-in-slices';

const limits = { maxDepth: 64, maxValues: 1_000_000, maxNames: 50_000, halfPairs: 'refuse' as const };

describe.each([
  ['parsed at once', (text: string) => parseJsonBody(Buffer.from(text))],
  ['parsed in slices', (text: string) => parseInSlices(text, limits)],
])('a JSON body %s', (_, parse) => {
  const parseOrRefuse = (text: string) =>
    parse(text).then(
      (value) => ({ value }),
      () => 'refused',
    );

  it('a JSON body has the same value as with JSON.parse', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 20 }), fc.constantFrom(undefined, 1, '\t'), async (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        fc.pre(!/__proto__|constructor|\\u0000|\\ud/.test(text));
        expect(await parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('a JSON body is refused if and only if JSON.parse refuses it', async () => {
    const token = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '"a":', '"\\"', '"\\\\"', '"\t"', '"\\x"', '"', '\\', ' ', '\n'],
      ...['0', '-1', '01', '1.', '1.5e3', '-', '+1', '.5', 'true', 'nul', 'null', 'false', 'NaN', '\u00a0', 'é', '"é"'],
    );
    const text = fc.array(token, { maxLength: 7 }).map((tokens) => tokens.join(''));
    await fc.assert(
      fc.asyncProperty(text, async (input) => {
        // An empty body is handled before the parser.
        fc.pre(input !== '');
        let expected: unknown = 'refused';
        try {
          expected = { value: JSON.parse(input) };
        } catch {
          // JSON.parse refuses the input, so the parser of bodies must refuse it too.
        }
        expect(await parseOrRefuse(input)).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64), true],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), false],
    ['brackets in a string', JSON.stringify('['.repeat(500)), true],
    ['an escaped quote before brackets', JSON.stringify(`"${'['.repeat(500)}`), true],
    ['an escaped backslash that ends a string', `["\\\\",${'['.repeat(64)}${']'.repeat(64)}]`, false],
  ])('a JSON body with %s is accepted or refused by its depth alone', async (__, text, allowed) => {
    if (allowed) await parse(text);
    else await expect(parse(text)).rejects.toThrow(/deeper than 64/);
  });

  it.each([
    ['U+0000 in a value', '{"a":"\\u0000"}'],
    ['U+0000 in a key', '{"\\u0000":1}'],
    ['U+0000 in a list', '[["x\\u0000"]]'],
  ])('a JSON body with %s is refused', (__, text) => expect(parse(text)).rejects.toThrow(/U\+0000/));

  it('a JSON body may contain \\u0000 and \\ud83d as plain text', async () => {
    expect(await parse('{"a":"\\\\u0000","b":"\\\\ud83d"}')).toEqual({ a: '\\u0000', b: '\\ud83d' });
  });

  it.each([
    '"\\ud83d"',
    '{"a":["x\\uDE00y"]}',
    '{"\\ud83d":1}',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '"\\\\\\ud83d"',
  ])('a JSON body with half of a surrogate pair in %s is refused', (text) =>
    expect(parse(text)).rejects.toThrow(/half of a surrogate pair/),
  );

  it('a JSON body may contain whole surrogate pairs, escaped or not', async () => {
    expect(await parse('["\\ud83d\\ude00","😀","\\uD83D\\uDE00"]')).toEqual(['😀', '😀', '😀']);
  });

  it.each(['{"__proto__":{}}', '{"a":{"__proto__":1}}', '{"constructor":{"prototype":{}}}', '{"\\u005f_proto__":{}}'])(
    'a JSON body with the forbidden key of %s is refused',
    (text) => expect(parse(text)).rejects.toThrow(/forbidden key/),
  );
});

describe('a JSON body', () => {
  it('a JSON body must be UTF-8', async () => {
    await expect(parseJsonBody(Buffer.from([0x22, 0xff, 0x22]))).rejects.toThrow(/UTF-8/);
    // A single surrogate in the form that some encoders write.
    await expect(parseJsonBody(Buffer.from([0x22, 0xed, 0xa0, 0xbd, 0x22]))).rejects.toThrow(/UTF-8/);
  });

  it('halves of surrogate pairs in a JSON body are replaced on request, parsed both at once and in slices', async () => {
    const text = '{"\\ud83d":"a\\ude00b\\ud83d\\ude00\\\\ud83d"}';
    const expected = { '\ufffd': 'a\ufffdb😀\\ud83d' };
    expect(await parseJsonBody(Buffer.from(text), { halfPairs: 'replace' })).toEqual(expected);
    expect(await parseInSlices(text, { ...limits, halfPairs: 'replace' })).toEqual(expected);
  });

  it('other work runs while a large JSON body is parsed, and the numbers of values and names are limited', async () => {
    const text = `[${'{},'.repeat(300_000)}{}]`;
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const value = await parseJsonBody(Buffer.from(text));
    clearInterval(timer);
    expect(value).toHaveLength(300_001);
    expect(turns).toBeGreaterThan(5);
    await expect(parseInSlices('[1,2,3]', { ...limits, maxValues: 3 })).rejects.toThrow(/more than 3 values/);
    const names = '[{"a":1,"b":{"c":1,"d":1}},{"a":1,"b":2}]';
    await expect(parseInSlices(names, { ...limits, maxNames: 2 })).resolves.toEqual(JSON.parse(names));
    await expect(parseInSlices(names, { ...limits, maxNames: 1 })).rejects.toThrow(/an object of more than 1 names/);
  });
});
