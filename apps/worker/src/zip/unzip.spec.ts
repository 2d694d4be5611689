import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeZip, type ZipEntry } from '@muster/testing';
import { unzipToFolder } from './unzip';

describe('Unzipping', () => {
  let folder: string;
  let around: string;
  const limits = { bytes: 1000, entries: 3 };

  beforeEach(() => {
    around = mkdtempSync(join(tmpdir(), 'muster-zip-'));
    folder = join(around, 'a', 'target');
    mkdirSync(folder, { recursive: true });
  });
  afterEach(() => rmSync(around, { recursive: true }));

  const listFilesAround = () => readdirSync(around, { recursive: true }).sort();
  const readRefusalReason = (zip: Buffer, zipLimits = limits) =>
    unzipToFolder(zip, folder, zipLimits).then(
      () => 'taken',
      (error: Error) => error.message.split(':')[0],
    );

  it('unzip writes files and folders, and returns the files with their checksums', async () => {
    const zip = makeZip([
      { name: 'a/', content: '', mode: 0o040755 },
      { name: 'a/b.txt', content: 'content' },
      { name: 'run', content: '', mode: 0o100755 },
    ]);
    expect(await unzipToFolder(zip, folder, limits)).toEqual([
      { path: 'a/b.txt', size: 7, sha256: 'ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73' },
      { path: 'run', size: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
    ]);
    expect(readFileSync(join(folder, 'a/b.txt'), 'utf8')).toBe('content');
    expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o700);
  });

  it('unzip writes large files in parallel, returns them in order, and uses checksums that were passed', async () => {
    const contents = [900_000, 10, 700_000, 300_000, 800_000, 20, 600_000].map((size) => randomBytes(size));
    const zip = makeZip(contents.map((content, at) => ({ name: `f/${at}`, content })));
    const more = { bytes: 4_000_000, entries: 7 };
    const right = contents.map((content, at) => ({
      ...{ path: `f/${at}`, size: content.length },
      sha256: createHash('sha256').update(content).digest('hex'),
    }));
    expect(await unzipToFolder(zip, folder, more)).toEqual(right);
    expect(contents.every((content, at) => readFileSync(join(folder, `f/${at}`)).equals(content))).toBe(true);

    const sums = new Map(right.map(({ path }) => [path, `of ${path}`]));
    const again = join(around, 'again');
    mkdirSync(again);
    const files = await unzipToFolder(zip, again, more, { sums });
    expect(files).toEqual(right.map((file) => ({ ...file, sha256: `of ${file.path}` })));
    expect(contents.every((content, at) => readFileSync(join(again, `f/${at}`)).equals(content))).toBe(true);
  });

  it('unzip refuses a wrong large file even if checksums were passed, and starts no further files', async () => {
    const contents = Array.from({ length: 8 }, (_, at) => randomBytes(at ? 2_000_000 : 300_000));
    const zip = makeZip(contents.map((content, at) => ({ name: `${at}`, content })));
    const row = zip.indexOf('PK\x01\x02');
    // The checksum of the first entry in the directory.
    zip[row + 16] = zip[row + 16]! ^ 0xff;
    const sums = new Map(contents.map((_, at) => [`${at}`, 'known']));
    const more = { bytes: 20_000_000, entries: 8 };
    await expect(unzipToFolder(zip, folder, more, { sums })).rejects.toThrow('digest_mismatch');
    // Files in progress were completed, and the others were not started.
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(sizes.length).toBeLessThan(8);
    expect([...new Set(sizes)].sort((a, b) => a - b)).toEqual([300_000, 2_000_000]);
  });

  const bad: [string, string, ZipEntry[]][] = [
    ['leads to a parent folder', 'parent_path', [{ name: '../x', content: '' }]],
    ['leads to a parent folder from a subfolder', 'parent_path', [{ name: 'a/../../x', content: '' }]],
    ['leads to a parent folder on Windows', 'parent_path', [{ name: 'a\\..\\x', content: '' }]],
    ['has an absolute path', 'absolute_path', [{ name: '/etc/x', content: '' }]],
    ['has an absolute path on Windows', 'absolute_path', [{ name: 'C:x', content: '' }]],
    ['has no name', 'bad_name', [{ name: '', content: '' }]],
    ['has an empty part in its path', 'bad_name', [{ name: 'a//x', content: '' }]],
    ['has a dot as a part of its path', 'bad_name', [{ name: './x', content: '' }]],
    ['has a control character in its name', 'bad_name', [{ name: 'a\nb', content: '' }]],
    ['has a NUL in its name', 'bad_name', [{ name: 'a\0b', content: '' }]],
    ['has a name that is not in composed Unicode form', 'bad_name', [{ name: 'e\u0301', content: '' }]],
    ['has a part of more than 255 bytes in its path', 'bad_name', [{ name: 'x'.repeat(256), content: '' }]],
    ['is a link', 'link', [{ name: 'x', content: '/etc/passwd', mode: 0o120777 }]],
    ['is a device', 'device', [{ name: 'x', content: '', mode: 0o020666 }]],
    ['is a pipe', 'device', [{ name: 'x', content: '', mode: 0o010666 }]],
    ['exceeds the limit of three entries', 'too_many_entries', ['a', 'b', 'c'].map((name) => ({ name, content: '' }))],
    ['appears twice', 'duplicate_path', ['x', 'x'].map((name) => ({ name, content: '' }))],
    ['is a file and a folder', 'duplicate_path', ['x', 'x/y'].map((name) => ({ name, content: '' }))],
    ['differs from another entry only in case', 'case_collision', ['x', 'X'].map((name) => ({ name, content: '' }))],
    ['is too large', 'too_large', [{ name: 'x', content: 'x'.repeat(1001) }]],
  ];
  it.each(bad)('a zip with an entry that %s is refused (%s) before anything is written', async (_, reason, files) => {
    const before = listFilesAround();
    expect(await readRefusalReason(makeZip([{ name: 'first', content: '1' }, ...files]))).toBe(reason);
    expect(listFilesAround()).toEqual(before);
  });

  it('an entry that is larger or smaller than declared is refused, for small and large files', async () => {
    const more = { bytes: 4_000_000, entries: 3 };
    for (const [length, size] of [
      [900, 10],
      [900, 901],
      [2_000_000, 1_000_000],
      [2_000_000, 2_000_001],
    ]) {
      const zip = makeZip([{ name: 'x', content: 'x'.repeat(length!), claimedSize: size }]);
      expect([await readRefusalReason(zip, more), length, size]).toEqual(['size_mismatch', length, size]);
      rmSync(join(folder, 'x'), { force: true });
    }
  });

  it('a zip with a compression ratio that is too high is refused, unless the zip is small', async () => {
    const makeDenseZip = (bytes: number) => makeZip([{ name: 'x', content: ' '.repeat(bytes) }]);
    const ratioLimits = { bytes: 100_000_000, entries: 3, ratio: 100 };
    expect(await readRefusalReason(makeDenseZip(11_000_000), ratioLimits)).toBe('ratio');
    expect(await readRefusalReason(makeDenseZip(10_000_000), ratioLimits)).toBe('taken');
  });

  it('a zip is refused if entries share bytes or if an entry’s own header has another name', async () => {
    const zip = makeZip(['one', 'two'].map((name) => ({ name, content: 'y' })));
    const second = zip.indexOf('PK\x01\x02', zip.indexOf('PK\x01\x02') + 1);
    const shared = Buffer.from(zip);
    shared.writeUInt32LE(0, second + 42);
    shared.write('one', second + 46);
    expect(await readRefusalReason(shared)).toBe('duplicate_path');
    const renamed = Buffer.from(zip);
    renamed.write('six', second + 46);
    expect(await readRefusalReason(renamed)).toBe('bad_name');
    const overlapping = Buffer.from(zip);
    // The bytes of the first entry overlap the second entry.
    overlapping.writeUInt32LE(10, zip.indexOf('PK\x01\x02') + 20);
    expect(await readRefusalReason(overlapping)).toBe('size_mismatch');
  });

  it('a file that is damaged, truncated, encrypted or not a zip is refused', async () => {
    const right = makeZip([{ name: 'x', content: 'some content here' }]);
    const changeByte = (at: number, value: number) => {
      const bytes = Buffer.from(right);
      bytes[at] = value;
      return bytes;
    };
    const row = right.indexOf('PK\x01\x02');
    expect(await readRefusalReason(Buffer.from('no zip'))).toBe('not_a_zip');
    expect(await readRefusalReason(Buffer.alloc(0))).toBe('not_a_zip');
    expect(await readRefusalReason(right.subarray(0, -1))).toBe('truncated');
    expect(await readRefusalReason(right.subarray(10))).toBe('truncated');
    expect(await readRefusalReason(Buffer.concat([right, Buffer.from('more')]))).toBe('truncated');
    expect(await readRefusalReason(changeByte(row + 8, 1))).toBe('encrypted');
    expect(await readRefusalReason(changeByte(row + 16, right[row + 16]! ^ 0xff))).toBe('digest_mismatch');
    expect(await readRefusalReason(changeByte(31, 0xff))).toBe('truncated');
    expect(listFilesAround()).toEqual(['a', 'a/target']);
  });

  it('unzip reads zips that Python writes, including the ZIP64 form of a stream', async () => {
    const path = join(around, 'made.zip');
    writeFileSync(
      join(around, 'make.py'),
      `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as made:
    with made.open("large/é.txt", "w", force_zip64=True) as file:
        file.write(b"x" * 700000)
    made.writestr("plain.txt", "y", zipfile.ZIP_STORED)
`,
    );
    execFileSync('python3', [join(around, 'make.py'), path]);
    const files = await unzipToFolder(readFileSync(path), folder, { bytes: 1_000_000, entries: 2 });
    expect(files.map(({ path, size }) => [path, size])).toEqual([
      ['large/é.txt', 700_000],
      ['plain.txt', 1],
    ]);
  });
});
