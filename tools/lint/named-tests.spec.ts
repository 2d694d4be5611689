// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { findMissingTests } from './named-tests.mjs';

describe('tests that a page names', () => {
  const files = {
    'libs/a/src/one.spec.ts': "it('a rule holds', () => {});\nit.each(list)(\n  'a rule of %s holds',\n  () => {});",
    'libs/b/src/one.spec.ts': 'it(`a rule for ${name}`, () => {});',
    'libs/b/src/two.spec.ts': "// it said 'a rule holds' before\nit('a rule', () => {});",
  };
  const findMissing = (text: string) =>
    findMissingTests('docs/page.md', text, Object.keys(files), (file: keyof typeof files) => files[file]) as string[];

  it('the lint accepts a test that a page names by its file or an end of the path, also over two lines', () => {
    const names = [
      '`libs/a/src/one.spec.ts`: `a rule holds`',
      '`a/src/one.spec.ts`: `a rule of %s\n  holds`',
      '`b/src/one.spec.ts`:\n`a rule for ${name}`',
      '`two.spec.ts`: `a rule`',
    ];
    expect(findMissing(names.join('; '))).toEqual([]);
  });

  it.each([
    ['a missing file', '`libs/c/src/one.spec.ts`: `a rule holds`', /names the tests of libs\/c.*does not exist/],
    ['a part of a file name', '`ne.spec.ts`: `a rule holds`', /does not exist/],
    ['an end of two paths', '`src/one.spec.ts`: `a rule holds`', /could be several files/],
    [
      'a test of another file',
      '`two.spec.ts`: `a rule holds`',
      /“a rule holds”, which libs\/b\/src\/two\.spec\.ts does/,
    ],
    ['a part of a name', '`two.spec.ts`: `a ru`', /“a ru”/],
  ])('the lint of pages refuses the name of a test that has %s', (_, text, message) => {
    expect(findMissing(`x ${text} y`)).toEqual([expect.stringMatching(message)]);
  });
});
