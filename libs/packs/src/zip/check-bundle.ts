import { open } from 'node:fs/promises';
import { BundleFaults, bundleRejectedError } from './bundle-faults';
import { findDirectory } from './find-directory';
import { PathCollisions } from './path-collisions';
import { readDirectory, type ZipEntry } from './read-directory';
import { type PlacedEntry, requireContiguousEntries } from './require-contiguous-entries';
import { unpackEntry } from './unpack-entry';
import { ZipBytes } from './zip-bytes';
import { zipLimits } from './zip-limits';

/** A file of a bundle, as listed in an inventory. */
export interface BundleFile {
  path: string;
  size: number;
  sha256: string;
}

/**
 * Reads a zip completely and compares it with its inventory. Checks that need no unpacking run first, and all faults
 * are reported. The zip is read in chunks, so neither memory nor the event loop depends on its size, and its declared
 * sizes are never trusted. Without an inventory, the inventory of the zip itself is returned.
 */
export async function checkBundle(path: string, inventory: readonly BundleFile[] | null): Promise<BundleFile[]> {
  const file = await open(path);
  try {
    const zip = new ZipBytes(file, (await file.stat()).size);
    const { size } = zip;
    if (size > zipLimits.zippedBytes) throw bundleRejectedError('too_large');
    const faults = new BundleFaults();
    const directory = await findDirectory(zip);
    const entries = await readDirectory(zip, directory, faults);
    await checkPathCollisions(zip, entries, faults);
    checkEntrySizes(entries, size, faults);
    const listed = inventory ? compareWithInventory(entries, inventory, faults) : null;
    faults.throwIfAny();
    const placedEntries = await requireContiguousEntries(zip, entries, directory.start);
    return await unpackAllEntries(zip, placedEntries, listed);
  } finally {
    await file.close();
  }
}

async function checkPathCollisions(zip: ZipBytes, entries: ZipEntry[], faults: BundleFaults): Promise<void> {
  const paths = new PathCollisions();
  for (const { path, isFolder } of entries) {
    await zip.yieldToEventLoop();
    if (faults.isFull) return;
    const fault = paths.addPath(path, isFolder);
    if (fault) faults.addFault(path, fault);
  }
}

/** Checks the declared sizes. Each entry is compared with its declared size when it is unpacked. */
function checkEntrySizes(entries: ZipEntry[], zipSize: number, faults: BundleFaults): void {
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  if (total > zipLimits.unzippedBytes) faults.addFault('', 'too_large');
  if (exceedsZipRatio(total, zipSize)) faults.addFault('', 'ratio');
}

function exceedsZipRatio(unzipped: number, zipSize: number): boolean {
  return unzipped > zipLimits.ratioFromBytes && unzipped > zipLimits.ratio * zipSize;
}

function compareWithInventory(entries: ZipEntry[], inventory: readonly BundleFile[], faults: BundleFaults) {
  const listed = new Map<string, BundleFile>();
  for (const file of inventory) {
    if (listed.has(file.path)) faults.addFault(file.path, 'duplicate_path');
    listed.set(file.path, file);
  }
  const files = new Set<string>();
  for (const { path, isFolder, size } of entries) {
    if (isFolder) continue;
    files.add(path);
    const expected = listed.get(path);
    if (!expected) faults.addFault(path, 'missing_in_inventory');
    else if (expected.size !== size) faults.addFault(path, 'size_mismatch');
  }
  for (const path of listed.keys())
    if (!files.has(path) && !faults.hasFaultAt(path)) faults.addFault(path, 'missing_in_zip');
  return listed;
}

async function unpackAllEntries(
  zip: ZipBytes,
  entries: PlacedEntry[],
  listed: Map<string, BundleFile> | null,
): Promise<BundleFile[]> {
  const faults = new BundleFaults();
  const files: BundleFile[] = [];
  for (const entry of entries) {
    const { path, size } = entry;
    const unpacked = await unpackEntry(zip, entry);
    if ('fault' in unpacked) faults.addFault(path, unpacked.fault);
    else if (!entry.isFolder) {
      const { sha256 } = unpacked;
      if (listed && listed.get(path)!.sha256.toLowerCase() !== sha256) faults.addFault(path, 'digest_mismatch');
      files.push({ path, size, sha256 });
    }
    if (faults.isFull) break;
  }
  faults.throwIfAny();
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}
