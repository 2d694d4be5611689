import { join } from 'node:path';
import { findInstalledChromium, findOrFetchChromium } from '../dev-stack/src/chromium';
import { root } from './npm-start';

/**
 * Returns the path of the browser in CHROMIUM, on PATH or in the user's cache, into which it is downloaded if there is
 * none, as for tests. Prints the reason and returns undefined if that is not possible.
 */
export async function findChromium(): Promise<string | undefined> {
  const { env } = process;
  const installed = await findInstalledChromium(env);
  if (installed) return installed;
  const found = await findOrFetchChromium({ dataDir: join(root, '.muster'), env, onProgress: console.log });
  if (typeof found === 'string') return found;
  console.log(`chromium: not found and not downloaded, because ${found.join('; ')}`);
  return undefined;
}
