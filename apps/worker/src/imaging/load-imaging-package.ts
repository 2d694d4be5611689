import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts of the Python package by file name. Set by the one-file build, which has no other files. */
declare const EMBEDDED_IMAGING_PACKAGE: Record<string, string> | undefined;

const name = 'muster_imaging';

/** Returns the files of the Python package for imaging commands: texts by path. */
export function loadImagingPackage(): Record<string, string> {
  const texts = typeof EMBEDDED_IMAGING_PACKAGE === 'object' ? EMBEDDED_IMAGING_PACKAGE : readPackageFiles();
  return Object.fromEntries(Object.entries(texts).map(([file, text]) => [`${name}/${file}`, text]));
}

function readPackageFiles(): Record<string, string> {
  const folder = join(__dirname, name);
  const files = readdirSync(folder).filter((file) => file.endsWith('.py'));
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}
