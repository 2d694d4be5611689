import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeAtomically } from '../host/files';
import { unzipToFolder, type UnpackedFile, type UnzipOptions } from '../zip/unzip';
import { ZipFault } from '../zip/zip-fault';
import { type Bundle, BundleRejected, BundleUnavailable, isDiskFullError, isPathTooLongError } from './bundle';
import type { BundleCache } from './bundle-cache';

const limits = { bytes: 512 * 1024 * 1024, entries: 10_000, ratio: 100 };
const maxUnpacked = 3;

interface Manifest {
  files: Record<string, { sha256: string; size: number }>;
  bundle?: { digest: string };
}

/** Unpacks a bundle to `bundle/` in a run root, and adds its files with their checksums to the root's manifest. */
export async function unpackBundleIntoRun(
  cache: BundleCache,
  bundle: Bundle,
  { root, stop }: { root: string; stop: AbortSignal },
): Promise<void> {
  const files = await cache.useBundle(bundle, stop, (bytes) =>
    unpackInTurn(bytes, join(root, 'bundle'), { stop, sums: cache.sums.getSums(bundle.digest) }),
  );
  cache.sums.storeSums(bundle.digest, files);
  const path = join(root, 'manifest.json');
  const manifest: Manifest = { files: {}, ...readJson<Manifest>(path), bundle: { digest: `sha256:${bundle.digest}` } };
  for (const { path: name, sha256, size } of files) manifest.files[`bundle/${name}`] = { sha256, size };
  writeAtomically(path, JSON.stringify(manifest));
}

/**
 * Returns the path of the bundle's main.py, which a run starts if its workflow has no script; null if the bundle has no
 * main.py.
 */
export function findMainFile(root: string): string | null {
  const path = join(root, 'bundle', 'main.py');
  return existsSync(path) ? path : null;
}

/**
 * Removes the unpacked bundles of old runs, whose folders are retained. A bundle can be fetched again by its digest.
 */
export async function removeOldBundles(runs: string, isNeeded: (name: string) => boolean): Promise<void> {
  if (!existsSync(runs)) return;
  const unpacked = readdirSync(runs)
    .map((name) => ({ name, path: join(runs, name, 'bundle') }))
    .flatMap((each) => {
      const found = statSync(each.path, { throwIfNoEntry: false });
      return found ? [{ ...each, at: found.mtimeMs }] : [];
    })
    .sort((a, b) => b.at - a.at);
  const old = unpacked.slice(maxUnpacked).filter(({ name }) => !isNeeded(name));
  for (const { path } of old) await rm(path, { recursive: true, force: true });
}

async function unpackInTurn(bytes: Buffer, folder: string, options: UnzipOptions): Promise<UnpackedFile[]> {
  mkdirSync(folder, { mode: 0o700 });
  try {
    return await unzipToFolder(bytes, folder, limits, options);
  } catch (error) {
    // Removes the files that were unpacked before the error.
    rmSync(folder, { recursive: true, force: true });
    if (error instanceof ZipFault) throw new BundleRejected(error.message);
    if (isPathTooLongError(error))
      throw new BundleRejected(`path_too_long: a path of the bundle is too long below ${folder}`);
    if (isDiskFullError(error)) throw new BundleUnavailable(`the disk is full: the bundle does not fit into ${folder}`);
    throw error;
  }
}
