import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

type Variables = Record<string, string | undefined>;

const names = [
  'chromium',
  'chromium-browser',
  'ungoogled-chromium',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
  'microsoft-edge-stable',
  'brave-browser',
];

/** Paths at which packages install a browser without a name on PATH. */
const usualPaths = [
  '/usr/lib/chromium/chromium',
  '/usr/lib/chromium-browser/chromium-browser',
  '/snap/bin/chromium',
  '/opt/google/chrome/chrome',
  '/opt/microsoft/msedge/msedge',
];

/** Paths in the home folder at which tools store browsers that they download for scripts; a star is any one folder. */
const caches = [
  '.cache/ms-playwright/chromium-*/*/chrome',
  '.cache/puppeteer/chrome/*/*/chrome',
  '.cache/puppeteer/chromium/*/*/chrome',
];

/** Finds this machine's browser: only the one in CHROMIUM if it is set, else one on PATH or at a usual path. */
export function findBrowser(env: Variables, usual = usualPaths): string | null {
  const { CHROMIUM, HOME } = env;
  if (CHROMIUM)
    return CHROMIUM.includes('/') ? (isExecutableFile(CHROMIUM) ? CHROMIUM : null) : findProgram(CHROMIUM, env);
  const fetched = HOME ? caches.flatMap((pattern) => listMatchingPaths(HOME, pattern.split('/'))) : [];
  const onPath = names.map((name) => findProgram(name, env)).find((path) => path !== null);
  return onPath ?? [...usual, ...fetched].find(isExecutableFile) ?? null;
}

export function findProgram(name: string, { PATH = '' }: Variables): string | null {
  const paths = PATH.split(delimiter).map((folder) => join(folder || '.', name));
  return paths.find(isExecutableFile) ?? null;
}

/** Returns the paths that match a pattern, the newest first. */
function listMatchingPaths(folder: string, [first, ...rest]: string[]): string[] {
  if (first === undefined) return [folder];
  if (!first.includes('*')) return listMatchingPaths(join(folder, first), rest);
  const [before, after] = first.split('*') as [string, string];
  const found = listNames(folder).filter((name) => name.startsWith(before) && name.endsWith(after));
  found.sort(new Intl.Collator('en', { numeric: true }).compare).reverse();
  return found.flatMap((name) => listMatchingPaths(join(folder, name), rest));
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
