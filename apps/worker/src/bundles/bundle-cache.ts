import { createHash } from 'node:crypto';
import { constants, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { LocalLog } from '../host/local-log';
import { type Bundle, BundleRejected, BundleUnavailable, isDiskFullError } from './bundle';
import { downloadBundle, largestBundleBytes } from './download-bundle';
import { FileSums } from './file-sums';

const pieceBytes = 4 * 1024 * 1024;

export interface BundleCacheOptions {
  folder: string;
  limitBytes: number;
  /** URL to which the relative URLs of bundles refer. */
  baseUrl: string;
  log: LocalLog;
}

/**
 * Stores downloaded bundles by digest, for all runs of this worker. Scripts run under the worker's account and could
 * change the stored files, so the bytes of a file are verified each time before they are used.
 */
export class BundleCache {
  readonly sums = new FileSums();
  private readonly folder: string;
  private readonly using = new Map<string, number>();
  private readonly fetching = new Map<string, Promise<Buffer>>();

  constructor(private readonly options: BundleCacheOptions) {
    this.folder = join(options.folder, 'bundles');
  }

  /** Calls `work` with the bytes of a bundle. Until the work ends, the bundle's file is not removed to make room. */
  async useBundle<T>(bundle: Bundle, stop: AbortSignal, work: (bytes: Buffer) => Promise<T>): Promise<T> {
    const { digest } = bundle;
    this.using.set(digest, (this.using.get(digest) ?? 0) + 1);
    try {
      return await work(await this.readShared(bundle, stop));
    } finally {
      const left = this.using.get(digest)! - 1;
      if (left) this.using.set(digest, left);
      else this.using.delete(digest);
      this.deleteOldestToFit(0);
    }
  }

  private async readShared(bundle: Bundle, stop: AbortSignal): Promise<Buffer> {
    for (;;) {
      stop.throwIfAborted();
      const running = this.fetching.get(bundle.digest);
      if (running) {
        const bytes = await running.catch(() => null);
        if (bytes) return bytes;
        // Another caller started this download, and it failed, perhaps only because that caller was stopped. This
        // caller tries again.
        continue;
      }
      const fetched = this.readOrDownload(bundle, stop).finally(() => this.fetching.delete(bundle.digest));
      this.fetching.set(bundle.digest, fetched);
      return fetched;
    }
  }

  private async readOrDownload(bundle: Bundle, stop: AbortSignal): Promise<Buffer> {
    const path = join(this.folder, `${bundle.digest}.zip`);
    const cached = await readVerified(path, bundle.digest);
    if (cached) {
      const now = new Date();
      utimesSync(path, now, now);
      return cached;
    }
    try {
      return await this.downloadVerified(bundle, path, stop);
    } catch (error) {
      if (!isDiskFullError(error)) throw error;
    }
    // Bundles that are not in use can be downloaded again later, so all of them are removed.
    this.deleteOldestToFit(Infinity);
    try {
      return await this.downloadVerified(bundle, path, stop);
    } catch (error) {
      if (!isDiskFullError(error)) throw error;
      const reason = `the disk is full: the bundle does not fit into ${this.folder}`;
      throw new BundleUnavailable(reason, { cause: error });
    }
  }

  private async downloadVerified(bundle: Bundle, path: string, stop: AbortSignal): Promise<Buffer> {
    const { baseUrl, log } = this.options;
    const part = join(this.folder, `${bundle.digest}.part`);
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    if (readStatsOrNull(path)) {
      log('warn', 'a cached bundle does not match its digest; downloading it again', { digest: bundle.digest });
      rmSync(path, { recursive: true, force: true });
    }
    const url = new URL(bundle.url, baseUrl);
    // The bundle does not match its digest, perhaps because the partial file of an earlier attempt was wrong. The whole
    // bundle is downloaded again once.
    for (const attempt of ['resumed', 'whole']) {
      if (attempt === 'whole') rmSync(part, { recursive: true, force: true });
      const isResumed = readStatsOrNull(part) !== null;
      const makeRoom = (bytes: number): void => this.deleteOldestToFit(bytes);
      try {
        await downloadBundle(url, part, { stop, makeRoom });
      } catch (error) {
        // The disk has no room for the whole bundle, so its partial file is deleted.
        if (isDiskFullError(error)) rmSync(part, { force: true });
        throw error;
      }
      const bytes = await readVerified(part, bundle.digest);
      if (bytes) {
        renameSync(part, path);
        return bytes;
      }
      if (!isResumed) break;
    }
    rmSync(part, { recursive: true, force: true });
    throw new BundleRejected('the bundle does not match its digest');
  }

  /** Removes the least recently used bundles until the limit is met, but no bundle in use. */
  private deleteOldestToFit(incoming: number): void {
    const files = listCachedFiles(this.folder);
    let total = files.reduce((sum, { size }) => sum + size, incoming);
    for (const { path, size, digest } of files.sort((a, b) => a.usedAt - b.usedAt)) {
      if (total <= this.options.limitBytes) return;
      if (this.using.has(digest)) continue;
      rmSync(path, { recursive: true, force: true });
      total -= size;
    }
  }
}

/**
 * Returns the bytes of a regular file if they match the digest. The file is read only once, so the returned bytes are
 * the verified bytes.
 */
async function readVerified(path: string, digest: string): Promise<Buffer | null> {
  const bytes = await readRegularFile(path);
  if (!bytes) return null;
  const sum = createHash('sha256');
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    sum.update(bytes.subarray(at, at + pieceBytes));
    await turn();
  }
  return sum.digest('hex') === digest ? bytes : null;
}

async function readRegularFile(path: string): Promise<Buffer | null> {
  try {
    // With these flags, opening a symbolic link fails, and opening a named pipe does not block.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile() || found.size > largestBundleBytes) return null;
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

interface CachedFile {
  path: string;
  digest: string;
  size: number;
  usedAt: number;
}

function listCachedFiles(folder: string): CachedFile[] {
  const names = readStatsOrNull(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const path = join(folder, name);
    const found = readStatsOrNull(path);
    return found ? [{ path, digest: name.replace(/\..*$/, ''), size: found.size, usedAt: found.mtimeMs }] : [];
  });
}

function readStatsOrNull(path: string) {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
