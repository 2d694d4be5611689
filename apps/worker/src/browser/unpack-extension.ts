import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isObject } from '../protocol/command';
import { unzipToFolder } from '../zip/unzip';

const limits = { bytes: 256 * 1024 * 1024, entries: 10_000 };

/**
 * Unpacks a downloaded zip and returns the extension's folder. The zip contains the files of the extension or, like a
 * workflow pack with an extension, another zip with these files.
 */
export async function unpackExtension(
  bytes: Buffer,
  staging: string,
  { version, stop }: { version: string; stop: AbortSignal },
): Promise<string> {
  const files = join(staging, 'files');
  mkdirSync(files, { mode: 0o700 });
  await unzipToFolder(removeCrxHeader(bytes), files, limits, { stop });
  const found = findManifestFolder(files);
  if (found) return found;
  const packed = findPackedExtension(files, version);
  if (!packed) throw createNoExtensionError();
  const within = join(staging, 'packed');
  mkdirSync(within, { mode: 0o700 });
  await unzipToFolder(removeCrxHeader(readFileSync(packed)), within, limits, { stop });
  const unpacked = findManifestFolder(within);
  if (!unpacked) throw createNoExtensionError();
  return unpacked;
}

/** Removes the header of a packed extension (.crx), which is followed by a zip. Its signature is not checked. */
function removeCrxHeader(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 4) !== 'Cr24' || bytes.length < 16) return bytes;
  return bytes.subarray(12 + bytes.readUInt32LE(8));
}

/** Returns the folder of the topmost manifest, because a zip may contain the extension's folder or its content. */
function findManifestFolder(folder: string): string | null {
  for (let level = [folder]; level.length;) {
    const found = level.filter((path) => isManifest(join(path, 'manifest.json')));
    if (found.length > 1) throw createSeveralExtensionsError();
    if (found.length === 1) return found[0]!;
    level = level.flatMap(listFolders);
  }
  return null;
}

/** Returns the only archive in the folder, or of several archives the one with the version in its name. */
function findPackedExtension(folder: string, version: string): string | null {
  const all: string[] = [];
  for (let level = [folder]; level.length; level = level.flatMap(listFolders)) {
    for (const path of level) {
      const files = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isFile());
      all.push(...files.filter(({ name }) => /\.(zip|crx)$/i.test(name)).map(({ name }) => join(path, name)));
    }
  }
  if (all.length < 2) return all[0] ?? null;
  const plain = version.trim().replace(/^v/i, '');
  const named = all.filter((path) => plain && extractNumbers(basename(path)).includes(plain));
  if (named.length !== 1) throw createSeveralExtensionsError();
  return named[0]!;
}

function extractNumbers(name: string): string[] {
  return name.match(/\d+(\.\d+)*/g) ?? [];
}

function listFolders(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== '__MACOSX')
    .map(({ name }) => join(folder, name));
}

function createSeveralExtensionsError(): Error {
  return new Error('the file contains more than one extension; deploy a file with only one');
}

function createNoExtensionError(): Error {
  return new Error('the file contains no browser extension: it has no manifest.json with a manifest_version');
}

function isManifest(path: string): boolean {
  return existsSync(path) && 'manifest_version' in readManifest(path);
}

export function readManifest(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8').replace(/^\u{FEFF}/u, ''));
    return isObject(value) ? value : {};
  } catch {
    // Browsers accept comments in a manifest. The browser decides whether it is valid.
    return { manifest_version: null };
  }
}
