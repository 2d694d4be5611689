import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Set by the one-file build, which has no folder beside it: texts by file name. */
declare const EMBEDDED_IMAGING_PACKAGE: Record<string, string> | undefined;

const name = 'muster_imaging';

/** The Python package of imaging commands: its files' texts by their paths. */
export function imagingPackage(): Record<string, string> {
  const texts = typeof EMBEDDED_IMAGING_PACKAGE === 'object' ? EMBEDDED_IMAGING_PACKAGE : readPackage();
  return Object.fromEntries(Object.entries(texts).map(([file, text]) => [`${name}/${file}`, text]));
}

function readPackage(): Record<string, string> {
  const folder = join(__dirname, name);
  const files = readdirSync(folder).filter((file) => file.endsWith('.py'));
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}
