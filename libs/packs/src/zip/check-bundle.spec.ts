import { execFileSync } from 'node:child_process';
import { randomBytes, randomFillSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { AppError, bundleFaultReasons } from '@muster/contracts';
import { measureLongestTurn, chooseSize, maxTurnMs } from '@muster/testing';
import fc from 'fast-check';
import { checkBundle, type BundleFile } from './check-bundle';
import { makeHostileZips } from './hostile-zips.harness';
import { listInventory, type WrittenEntry, type WrittenZip, makeTestZip } from './zip-writer.harness';

const cases = chooseSize('BUNDLE_CASES', { short: 25, long: 400 });

describe('checkBundle', () => {
  let folder: string;
  let count = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-bundles-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const check = async (zip: Buffer, inventory: BundleFile[] | null) => {
    const path = join(folder, `${(count += 1)}.zip`);
    await writeFile(path, zip);
    try {
      return await checkBundle(path, inventory);
    } finally {
      await rm(path);
    }
  };
  const faultsOf = async (zip: Buffer, inventory: BundleFile[] | null) => {
    const error: unknown = await check(zip, inventory).catch((thrown: unknown) => thrown);
    if (!(error instanceof AppError)) throw error instanceof Error ? error : new Error('the bundle was accepted');
    expect(error.code).toBe('bundle_rejected');
    return error.options.extra!['errors'] as { path: string; reason: string }[];
  };

  const corpus = makeHostileZips();

  it('the tests of checkBundle have at least forty hostile zips, which cover every reason for a rejection', () => {
    expect(new Set(corpus.map(({ kind }) => kind)).size).toBe(corpus.length);
    expect(corpus.length).toBeGreaterThanOrEqual(40);
    expect([...new Set(corpus.map(({ reason }) => reason))].sort()).toEqual([...bundleFaultReasons].sort());
  });

  it.each(corpus.map((each) => [each.kind, each] as const))(
    'checkBundle rejects an upload with this defect: %s',
    async (_, { zip, inventory, reason }) => {
      expect((await faultsOf(zip, inventory)).map((fault) => fault.reason)).toContain(reason);
    },
  );

  const entries: WrittenEntry[] = [
    { name: 'lib/', mode: 0o40755 },
    { name: 'main.py', bytes: 'import lib.claims\n' },
    { name: 'lib/claims.py', bytes: 'x = 1\n'.repeat(50_000) },
    { name: 'lib/größe.txt', bytes: 'ß', method: 0 },
    { name: 'data.bin', bytes: randomBytes(300_000) },
    { name: 'empty' },
    { name: `${'a/'.repeat(99)}x` },
    // A path of 4,096 bytes, whose longest part has 255 bytes.
    { name: `${'y'.repeat(255)}/`.repeat(15).concat('y'.repeat(253), '/yy') },
  ];
  const all = listInventory(entries);
  const shapes: [string, WrittenEntry[], WrittenZip][] = [
    ['without extras', entries, {}],
    ['with a comment', entries, { comment: Buffer.from('made by hand') }],
    ['with a directory in another order', entries, { order: 'reversed' }],
    ['with zip64 fields', entries.map((each) => ({ ...each, zip64: true })), { zip64End: true }],
    ...(['signed', 'bare', 'wide'] as const).map((descriptor): [string, WrittenEntry[], WrittenZip] => [
      `written as a stream (${descriptor})`,
      entries.map((each) => ({ ...each, descriptor })),
      {},
    ]),
    ['with another zip in it', [...entries, { name: 'inner.zip', bytes: makeTestZip(entries), method: 0 }], {}],
  ];

  it.each(shapes)('checkBundle accepts a zip %s', async (_, written, options) => {
    const expected = listInventory(written).sort((one, other) => (one.path < other.path ? -1 : 1));
    expect(await check(makeTestZip(written, options), listInventory(written))).toEqual(expected);
    expect(await check(makeTestZip(written, options), null)).toEqual(expected);
  });

  it.each([
    ['Python’s zipfile', 'z = zipfile.ZipFile("out.zip", "w", 8)'],
    ['Python’s zipfile into a pipe', 'z = zipfile.ZipFile(Pipe(open("out.zip", "wb")), "w", 8)'],
  ])('checkBundle accepts a zip from %s', async (_, open) => {
    const code = [
      'import json, sys, zipfile',
      'class Pipe:',
      '  def __init__(self, file): self.file = file',
      '  def write(self, data): return self.file.write(data)',
      '  def flush(self): self.file.flush()',
      open,
      '[z.writestr(name, text) for name, text in json.load(sys.stdin).items()]',
      'z.close()',
    ].join('\n');
    const files = { 'main.py': 'print(1)\n', 'lib/größe.txt': 'ß'.repeat(9999) };
    execFileSync('python3', ['-c', code], { cwd: folder, input: JSON.stringify(files) });
    const inventory = listInventory(Object.entries(files).map(([name, bytes]) => ({ name, bytes })));
    expect((await check(await readFile(join(folder, 'out.zip')), inventory)).map(({ path }) => path)).toEqual([
      'lib/größe.txt',
      'main.py',
    ]);
  });

  it.each([
    ['is too long', `${'x'.repeat(255)}/`.repeat(16).concat('x'), 'path_too_long'],
    ['has a part that is too long', 'x'.repeat(256), 'bad_name'],
  ])('the error for a path that %s contains the limits of paths', async (_, name, reason) => {
    const refused = await check(makeTestZip([{ name }]), null).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ options: { extra: { errors: [{ reason }] } } });
    expect((refused as AppError).options.detail).toContain(
      'A path may have at most 4,096 bytes and 100 parts of at most 255 bytes each. The draft has not changed.',
    );
  });

  it('checkBundle reports all invalid names of a zip together, up to fifty', async () => {
    const wrong: WrittenEntry[] = [{ name: '/a' }, { name: '../b' }, { name: 'c', mode: 0o120777 }, { name: 'd' }];
    expect(await faultsOf(makeTestZip(wrong), listInventory(wrong))).toEqual([
      { path: '/a', reason: 'absolute_path' },
      { path: '../b', reason: 'parent_path' },
      { path: 'c', reason: 'link' },
    ]);
    const many = Array.from({ length: 5000 }, (_, at) => ({ name: `../${at}` }));
    expect(await faultsOf(makeTestZip(many), listInventory(many))).toHaveLength(50);
  });

  it.each([
    [
      '10,000 entries',
      () => Array.from({ length: 10_000 }, (_, at) => ({ name: `a/${at % 100}/${at}.py`, bytes: `${at}` })),
    ],
    ['300 MiB', () => [makeLargeEntry(300)]],
  ])('checkBundle does not block the event loop for a bundle with %s', async (_, entriesOf) => {
    const written: WrittenEntry[] = entriesOf();
    const path = join(folder, 'large.zip');
    await writeFile(path, makeTestZip(written));
    const inventory = listInventory(written);
    expect(await measureLongestTurn(() => checkBundle(path, inventory))).toBeLessThan(maxTurnMs);
  });

  it('checkBundle either rejects a zip with changed bytes, or returns the original files', async () => {
    const zip = makeTestZip(entries.slice(0, 4));
    const inventory = all.filter(({ path }) => path !== 'data.bin' && path !== 'empty');
    const change = fc.record({
      at: fc.oneof(fc.nat(zip.length - 1), fc.integer({ min: zip.length - 300, max: zip.length - 1 })),
      to: fc.nat(255),
    });
    const sorted = [...inventory].sort((one, other) => (one.path < other.path ? -1 : 1));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const changed = Buffer.from(zip);
        for (const { at, to } of changes) changed[at] = to;
        const read: unknown = await check(changed, inventory).catch((error: unknown) => error);
        if (read instanceof AppError) expect(read.code).toBe('bundle_rejected');
        else expect(read).toEqual(sorted);
      }),
      { numRuns: cases },
    );
  });

  it('checkBundle throws only bundle_rejected for a zip that is put together at random', async () => {
    const zip = makeTestZip(entries.slice(0, 4));
    const piece = fc
      .tuple(fc.nat(zip.length), fc.nat(zip.length))
      .map(([one, other]) => zip.subarray(Math.min(one, other), Math.max(one, other)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(piece, fc.constant(zip.subarray(-22)), fc.uint8Array({ maxLength: 40 })), { maxLength: 5 }),
        async (pieces) => {
          const recombined = Buffer.concat(pieces.map((each) => Buffer.from(each)));
          const read: unknown = await check(recombined, null).catch((error: unknown) => error);
          if (!Array.isArray(read)) expect((read as AppError).code).toBe('bundle_rejected');
        },
      ),
      { numRuns: cases },
    );
  });

  it('checkBundle accepts a zip only with an inventory of exactly its files', async () => {
    const name = fc.constantFrom('a', 'b', 'lib/a', 'lib/b', 'ß', 'data/x.json');
    const files = fc.uniqueArray(fc.record({ name, bytes: fc.string({ maxLength: 50 }) }), {
      selector: (each) => each.name,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(files, files, async (zipped, listed) => {
        const [own, other] = [listInventory(zipped), listInventory(listed)];
        const read: unknown = await check(makeTestZip(zipped), other).catch((error: unknown) => error);
        const sort = (list: BundleFile[]) => [...list].sort((one, another) => (one.path < another.path ? -1 : 1));
        const same = JSON.stringify(sort(own)) === JSON.stringify(sort(other));
        expect(Array.isArray(read)).toBe(same);
      }),
      { numRuns: cases },
    );
  });
});

/** Returns a file that deflates quickly, to an eighth of its size. */
function makeLargeEntry(mebibytes: number): WrittenEntry {
  const bytes = Buffer.alloc(mebibytes * 1024 * 1024);
  for (let at = 0; at < bytes.length; at += 64 * 1024) randomFillSync(bytes, at, 8 * 1024);
  return { name: 'large', bytes, packed: deflateRawSync(bytes, { level: 1 }) };
}
