import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Returns the path of the browser in CHROMIUM or on PATH; undefined if there is none. */
export function findChromium(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env;
  if (CHROMIUM) return CHROMIUM;
  return PATH.split(delimiter)
    .flatMap((folder) => ['chromium', 'google-chrome'].map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}
