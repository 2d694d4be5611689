import { createHash } from 'node:crypto';
import { largestBundleBytes } from '../bundles/download-bundle';
import { readZip } from '../zip/read-zip';
import { writeZip } from '@muster/contracts/zip';
import { ZipFault } from '../zip/zip-fault';
import { limits, readFilesToZip, Unpublishable } from './read-folder';

export interface MadeBundle {
  zip: Buffer;
  /** `sha256:` and the hex digest of the zip. */
  digest: string;
  files: { path: string; size: number; sha256: string }[];
}

/** Makes a bundle from a folder. Throws if the service would refuse the bundle. */
export function makeBundle(folder: string): MadeBundle {
  const files = readFilesToZip(folder);
  const zip = writeZip(files);
  if (zip.length > largestBundleBytes) {
    throw new Unpublishable(`the zipped bundle has ${zip.length} bytes; at most ${largestBundleBytes} are allowed`);
  }
  try {
    readZip(zip, limits);
  } catch (error) {
    throw error instanceof ZipFault ? new Unpublishable(error.message) : error;
  }
  const inventory = files.map(({ path, content }) => ({ path, size: content.length, sha256: sha256Hex(content) }));
  return { zip, digest: `sha256:${sha256Hex(zip)}`, files: inventory };
}

function sha256Hex(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
