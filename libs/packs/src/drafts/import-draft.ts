import type { Principal } from '@muster/access';
import { open } from 'node:fs/promises';
import { findPack } from '../packs/pack-row';
import { digestToHex } from '../pack-objects';
import { exportNames } from '../versions/export-version';
import { BundleFaults, bundleRejectedError } from '../zip/bundle-faults';
import type { BundleFile } from '../zip/check-bundle';
import { findDirectory } from '../zip/find-directory';
import { readDirectory } from '../zip/read-directory';
import { type PlacedEntry, requireContiguousEntries } from '../zip/require-contiguous-entries';
import { ZipBytes } from '../zip/zip-bytes';
import { zipLimits } from '../zip/zip-limits';
import { type DraftExpectation, requireUnchangedDraftHead } from './set-draft-head';
import { type Spooled, runWithSpool } from './spool';
import { type DraftParts, type PreparedDraft, prepareSpooledDraft } from './take-draft';

const maxManifestBytes = 16 * 1024 * 1024;
const chunkBytes = 256 * 1024;

/** Maximum size of an export: the largest bundle, its manifest, and the headers of the zip. */
export const maxExportBytes = zipLimits.zippedBytes + maxManifestBytes + 4096;

type Spool = (chunks: AsyncIterable<Uint8Array>) => Promise<Spooled>;

/** Reads an export, checks its bundle against the digest and the files in its manifest, and stores the bundle. */
export async function prepareImport(
  parts: DraftParts,
  caller: Principal,
  packId: string,
  /** Reads the form, which also contains the expected draft head. */
  receive: (spool: Spool) => Promise<{ archive: Spooled; expected: DraftExpectation }>,
): Promise<{ prepared: PreparedDraft; expected: DraftExpectation }> {
  const pack = await findPack(parts.database, caller.organizationId, packId);
  return runWithSpool(async (spool) => {
    const { archive, expected } = await receive(spool);
    requireUnchangedDraftHead(pack, expected);
    const { manifest, spooled } = await openExportedZip(archive, spool);
    if (manifest.digest !== spooled.digest) throw bundleRejectedError('digest_mismatch', exportNames.bundle);
    const prepared = await prepareSpooledDraft(parts, caller, { packId, spooled, inventory: manifest.files, expected });
    return { prepared, expected };
  });
}

async function openExportedZip({ path }: Spooled, spool: Spool) {
  const file = await open(path);
  try {
    const zip = new ZipBytes(file, (await file.stat()).size);
    const directory = await findDirectory(zip);
    const faults = new BundleFaults();
    const entries = await readDirectory(zip, directory, faults);
    faults.throwIfAny();
    const placedEntries = await requireContiguousEntries(zip, entries, directory.start);
    const manifest = parsePackManifest(await readEntryText(zip, findStoredEntry(placedEntries, exportNames.manifest)));
    const spooled = await spool(readEntryChunks(zip, findStoredEntry(placedEntries, exportNames.bundle)));
    return { manifest, spooled };
  } finally {
    await file.close();
  }
}

/**
 * Finds an entry by its path. The entry must be stored uncompressed, as in every export, because the bundle is a zip
 * itself.
 */
function findStoredEntry(entries: PlacedEntry[], path: string): PlacedEntry {
  const found = entries.filter((entry) => entry.path === path);
  if (found.length === 0) throw bundleRejectedError('missing_in_zip', path);
  if (found.length > 1) throw bundleRejectedError('duplicate_path', path);
  if (found[0]!.method !== 0) throw bundleRejectedError('not_a_zip', path);
  return found[0]!;
}

async function readEntryText(zip: ZipBytes, entry: PlacedEntry): Promise<string> {
  if (entry.size > maxManifestBytes) throw bundleRejectedError('too_large', entry.path);
  return (await zip.readBytes(entry.dataAt, entry.size)).toString();
}

async function* readEntryChunks(zip: ZipBytes, { dataAt, size }: PlacedEntry): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; at += chunkBytes) yield await zip.readBytes(dataAt + at, Math.min(chunkBytes, size - at));
}

interface ExportManifest {
  /** SHA-256 of the bundle in hex. */
  digest: string;
  files: BundleFile[];
}

function parsePackManifest(text: string): ExportManifest {
  let manifest: { bundle?: { digest?: unknown }; files?: unknown };
  try {
    manifest = JSON.parse(text) as typeof manifest;
  } catch {
    throw bundleRejectedError('not_a_zip', exportNames.manifest);
  }
  const { bundle, files } = manifest ?? {};
  if (typeof bundle?.digest !== 'string' || !Array.isArray(files) || !files.every(isBundleFile)) {
    throw bundleRejectedError('not_a_zip', exportNames.manifest);
  }
  return { digest: digestToHex(bundle.digest), files };
}

function isBundleFile(file: unknown): file is BundleFile {
  const { path, size, sha256 } = (file ?? {}) as Partial<BundleFile>;
  return typeof path === 'string' && typeof size === 'number' && typeof sha256 === 'string';
}
