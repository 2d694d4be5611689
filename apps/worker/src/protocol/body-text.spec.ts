import { serializeBody } from './service';

describe('serializeBody', () => {
  it('a request body is sent with U+FFFD instead of U+0000 in keys and values, and otherwise unchanged', () => {
    const output = { 'a\0': ['b\0\0c', '\0', '\\u0000', '\\\0', '\\\\u0000', '\\\\\0'], look: { title: '\u0001' } };
    expect(JSON.parse(serializeBody<{ output: object }>({ output }))).toEqual({
      output: {
        'a\ufffd': ['b\ufffd\ufffdc', '\ufffd', '\\u0000', '\\\ufffd', '\\\\u0000', '\\\\\ufffd'],
        look: { title: '\u0001' },
      },
    });
  });
});
