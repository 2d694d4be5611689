import { randomBytes } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bundle } from './bundle';
import { BundleCache } from './bundle-cache';
import { BundleStore } from './bundle-store.harness';

describe('The cache of bundles', () => {
  let store: BundleStore;
  let folder: string;
  let cache: BundleCache;
  const never = new AbortController().signal;
  const openCache = (limitBytes = 10_000_000) =>
    new BundleCache({ folder, limitBytes, baseUrl: 'http://127.0.0.1:1', log: () => undefined });
  const readBundle = (bundle: Bundle, stop = never) => cache.useBundle(bundle, stop, (bytes) => Promise.resolve(bytes));
  const getCachePath = ({ digest }: Bundle, kind = 'zip') => join(folder, 'bundles', `${digest}.${kind}`);

  beforeEach(async () => {
    store = await BundleStore.start();
    folder = mkdtempSync(join(tmpdir(), 'muster-bundles-'));
    cache = openCache();
  });
  afterEach(async () => {
    await store.stop();
    rmSync(folder, { recursive: true });
  });

  it('a bundle is downloaded once for concurrent and later uses, even after a restart', async () => {
    const bytes = randomBytes(100_000);
    const bundle = store.addBundle(bytes);
    const together = await Promise.all(Array.from({ length: 10 }, () => readBundle(bundle)));
    expect(together.every((each) => each.equals(bytes))).toBe(true);
    expect((await readBundle(bundle)).equals(bytes)).toBe(true);
    cache = openCache();
    expect((await readBundle(bundle)).equals(bytes)).toBe(true);
    expect(store.countFetches(bundle)).toBe(1);
    expect(store.requests[0]!.key).toBeUndefined();
  });

  it('a bundle is downloaded for waiting callers even if the caller that started the download stops', async () => {
    const bundle = store.addBundle(randomBytes(1000));
    let release!: () => void;
    store.released = new Promise((resolve) => (release = resolve));
    const stopped = new AbortController();
    const first = readBundle(bundle, stopped.signal).then(
      () => 'read',
      () => 'stopped',
    );
    const second = readBundle(bundle);
    while (!store.countFetches(bundle)) await new Promise((resolve) => setTimeout(resolve, 5));
    stopped.abort();
    expect(await first).toBe('stopped');
    release();
    expect(await second).toHaveLength(1000);
  });

  it('a stored bundle is downloaded again if its file was changed or replaced', async () => {
    const bytes = randomBytes(50_000);
    const bundle = store.addBundle(bytes);
    const path = getCachePath(bundle);
    const elsewhere = join(folder, 'elsewhere');
    const changes: (() => void)[] = [
      () => writeFileSync(path, Buffer.concat([bytes.subarray(0, 49_999), Buffer.from([bytes[49_999]! ^ 1])])),
      () => writeFileSync(path, ''),
      () => {
        // A symbolic link to a file with the right bytes. A script could change that file at any time.
        rmSync(path);
        writeFileSync(elsewhere, bytes);
        symlinkSync(elsewhere, path);
      },
      () => {
        rmSync(path);
        execFileSync('sh', ['-c', `mkfifo ${path}`]);
      },
      () => {
        rmSync(path);
        execFileSync('mkdir', ['-p', join(path, 'folder')]);
      },
    ];
    await readBundle(bundle);
    for (const [index, change] of changes.entries()) {
      change();
      expect((await readBundle(bundle)).equals(bytes)).toBe(true);
      expect(statSync(path).isFile()).toBe(true);
      expect(store.countFetches(bundle)).toBe(index + 2);
    }
    expect(readFileSync(elsewhere).equals(bytes)).toBe(true);
  });

  it('an interrupted download of a bundle is resumed by the same worker and by the next worker', async () => {
    const bytes = randomBytes(300_000);
    const bundle = store.addBundle(bytes);
    store.cuts = [100_000, 50_000];
    expect((await readBundle(bundle)).equals(bytes)).toBe(true);
    expect(store.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=100000-', 'bytes=150000-']);

    const other = store.addBundle(randomBytes(300_000));
    writeFileSync(getCachePath(other, 'part'), (await readBundle(other)).subarray(0, 200_000));
    rmSync(getCachePath(other));
    cache = openCache();
    await readBundle(other);
    expect(store.requests.at(-1)!.range).toBe('bytes=200000-');
    expect(readdirSync(join(folder, 'bundles')).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('a bundle is downloaded from the start if its partial file is wrong or the store ignores ranges', async () => {
    const bytes = randomBytes(1000);
    const wrong = store.addBundle(bytes);
    await readBundle(store.addBundle(randomBytes(10)));
    writeFileSync(getCachePath(wrong, 'part'), randomBytes(500));
    expect((await readBundle(wrong)).equals(bytes)).toBe(true);
    const long = store.addBundle(randomBytes(2000));
    writeFileSync(getCachePath(long, 'part'), randomBytes(5000));
    expect(await readBundle(long)).toHaveLength(2000);
    const restarted = store.addBundle(randomBytes(3000));
    writeFileSync(getCachePath(restarted, 'part'), randomBytes(500));
    store.ignoresRanges = true;
    expect(await readBundle(restarted)).toHaveLength(3000);
  });

  it('the download of a bundle is retried after a failure of the store, but not after a refusal', async () => {
    const bundle = store.addBundle(randomBytes(10));
    store.refusals = [503, 500];
    expect(await readBundle(bundle)).toHaveLength(10);
    const gone = store.addBundle(randomBytes(10));
    store.refusals = [403];
    await expect(readBundle(gone)).rejects.toMatchObject({
      code: 'bundle_unavailable',
      message: "the bundle's URL returned status 403",
    });
    expect(store.countFetches(gone)).toBe(1);
  });

  it('a bundle that does not match its digest is not stored', async () => {
    const bundle = store.addBundle(randomBytes(10), 'f'.repeat(64));
    await expect(readBundle(bundle)).rejects.toMatchObject({
      code: 'bundle_rejected',
      message: 'the bundle does not match its digest',
    });
    expect(readdirSync(join(folder, 'bundles'))).toEqual([]);
  });

  it('the least recently used bundles are removed at the cache’s limit, but never a bundle in use', async () => {
    cache = openCache(3500);
    const [a, b, c, d] = Array.from({ length: 4 }, () => store.addBundle(randomBytes(1000)));
    const setLastUse = (bundle: Bundle, seconds: number) => utimesSync(getCachePath(bundle), seconds, seconds);
    await readBundle(a!);
    setLastUse(a!, 1);
    await cache.useBundle(a!, never, async () => {
      await readBundle(b!);
      await readBundle(c!);
      setLastUse(a!, 1);
      setLastUse(b!, 3);
      setLastUse(c!, 2);
      // The oldest bundle is in use, so the next oldest one is removed.
      await readBundle(d!);
      expect([a, b, c, d].map((each) => existsSync(getCachePath(each!)))).toEqual([true, true, false, true]);
    });
    await readBundle(b!);
    expect([a, b, d].map((each) => store.countFetches(each!))).toEqual([1, 1, 1]);
    const huge = store.addBundle(randomBytes(4000));
    expect(await readBundle(huge)).toHaveLength(4000);
    expect(readdirSync(join(folder, 'bundles'))).toEqual([]);
  });

  const mounts =
    process.getuid?.() === 0 && spawnSync('sh', ['-c', 'unshare --mount true']).status === 0 ? it : it.skip;
  mounts(
    'the bundle cache makes room on a full disk, and reports a disk that is too small (skipped without mount)',
    async () => {
      const disk = join(folder, 'bundles');
      mkdirSync(disk);
      expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status).toBe(0);
      try {
        const [first, second] = [store.addBundle(randomBytes(700_000)), store.addBundle(randomBytes(700_000))];
        await readBundle(first);
        expect(await readBundle(second)).toHaveLength(700_000);
        expect(readdirSync(disk)).toEqual([`${second.digest}.zip`]);
        await expect(readBundle(store.addBundle(randomBytes(1_500_000)))).rejects.toMatchObject({
          code: 'bundle_unavailable',
          message: `the disk is full: the bundle does not fit into ${disk}`,
        });
        expect(readdirSync(disk)).toEqual([]);
      } finally {
        spawnSync('umount', [disk]);
      }
    },
  );
});
