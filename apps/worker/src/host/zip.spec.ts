import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzip } from './zip';
import { zipOf, type ZipFile } from './zip.harness';

describe('Unzipping', () => {
  let folder: string;
  const limits = { bytes: 1000, entries: 3 };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-zip-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('writes files and folders', () => {
    const zip = zipOf([
      { name: 'a/', content: '', mode: 0o040755 },
      { name: 'a/b.txt', content: 'content' },
      { name: 'empty', content: '' },
    ]);
    expect(unzip(zip, folder, limits)).toEqual(['a/b.txt', 'empty']);
    expect(readFileSync(join(folder, 'a/b.txt'), 'utf8')).toBe('content');
  });

  const bad: [string, ZipFile[]][] = [
    ['leads up', [{ name: '../x', content: '' }]],
    ['leads up from within', [{ name: 'a/../../x', content: '' }]],
    ['is absolute', [{ name: '/etc/x', content: '' }]],
    ['is of another system', [{ name: 'C:x', content: '' }]],
    ['has backslashes', [{ name: 'a\\..\\x', content: '' }]],
    ['is a link', [{ name: 'x', content: '/etc/passwd', mode: 0o120777 }]],
    ['is a device', [{ name: 'x', content: '', mode: 0o020666 }]],
    ['comes after three others', ['a', 'b', 'c', 'd'].map((name) => ({ name, content: '' }))],
    ['is too large', [{ name: 'x', content: 'x'.repeat(1001) }]],
    ['is larger than it says', [{ name: 'x', content: 'x'.repeat(900), size: 10 }]],
  ];
  it.each(bad)('refuses an entry that %s, and writes nothing', (_, files) => {
    expect(() => unzip(zipOf([{ name: 'first', content: '1' }, ...files].slice(0, 4)), folder, limits)).toThrow();
    expect(readdirSync(folder).filter((name) => name !== 'first')).toEqual([]);
  });

  it('refuses what is damaged, encrypted or no zip', () => {
    const right = zipOf([{ name: 'x', content: 'some content here' }]);
    const damaged = Buffer.from(right);
    damaged[34] = damaged[34]! ^ 0xff;
    expect(() => unzip(damaged, folder, limits)).toThrow();
    expect(() => unzip(Buffer.from('no zip'), folder, limits)).toThrow('this is no zip');
    expect(() => unzip(right.subarray(10), folder, limits)).toThrow();
    expect(() =>
      unzip(
        zipOf([
          { name: 'x', content: '' },
          { name: 'x', content: '' },
        ]),
        folder,
        limits,
      ),
    ).toThrow();
  });
});
