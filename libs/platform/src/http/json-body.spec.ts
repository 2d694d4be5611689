import fc from 'fast-check';
import { parseJsonBody } from './json-body';

const parse = (text: string) => parseJsonBody(Buffer.from(text));

describe('a JSON body', () => {
  it('is read as JSON.parse reads it, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/__proto__|constructor|\\u0000/.test(text));
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64), true],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), false],
    ['brackets in a string', JSON.stringify('['.repeat(500)), true],
    ['an escaped quote before brackets', JSON.stringify(`"${'['.repeat(500)}`), true],
    ['an escaped backslash that ends a string', `["\\\\",${'['.repeat(64)}${']'.repeat(64)}]`, false],
  ])('with %s is decided by its depth alone', (_, text, allowed) => {
    if (allowed) expect(() => parse(text)).not.toThrow();
    else expect(() => parse(text)).toThrow(/deeper than 64/);
  });

  it.each([
    ['U+0000 in a value', '{"a":"\\u0000"}'],
    ['U+0000 in a key', '{"\\u0000":1}'],
    ['U+0000 in a list', '[["x\\u0000"]]'],
  ])('with %s is refused', (_, text) => expect(() => parse(text)).toThrow(/U\+0000/));

  it('may speak of \\u0000 without holding it', () => {
    expect(parse('{"a":"\\\\u0000"}')).toEqual({ a: '\\u0000' });
  });

  it.each(['{"__proto__":{}}', '{"a":{"__proto__":1}}', '{"constructor":{"prototype":{}}}', '{"\\u005f_proto__":{}}'])(
    'with the forbidden key of %s is refused',
    (text) => expect(() => parse(text)).toThrow(/forbidden key/),
  );

  it('must be UTF-8', () => {
    expect(() => parseJsonBody(Buffer.from([0x22, 0xff, 0x22]))).toThrow(/UTF-8/);
  });
});
