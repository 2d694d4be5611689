import { textOfBody } from './service';

describe('textOfBody', () => {
  it('replaces U+0000 with U+FFFD in keys and values, and changes nothing else', () => {
    const output = { 'a\0': ['b\0\0c', '\0', '\\u0000', '\\\0', '\\\\u0000', '\\\\\0'], look: { title: '\u0001' } };
    expect(JSON.parse(textOfBody<{ output: object }>({ output }))).toEqual({
      output: {
        'a\ufffd': ['b\ufffd\ufffdc', '\ufffd', '\\u0000', '\\\ufffd', '\\\\u0000', '\\\\\ufffd'],
        look: { title: '\u0001' },
      },
    });
  });
});
