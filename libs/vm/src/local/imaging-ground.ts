import { basename, delimiter, dirname, isAbsolute, resolve } from 'node:path';
import type { Environment } from '@muster/platform';

/** What a worker is told for imaging commands: whoever runs it reads them there (apps/worker, settings.ts). */
const variables = [
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP'],
  ...['PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY'],
  // Where `npm start` has Pillow, should Python not find one.
  ...['IMAGING_PYTHONPATH', 'IMAGING_LIBRARY_PATH'],
];

const systemFolders = new Set([
  ...['bin', 'boot', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'opt', 'proc', 'root', 'run', 'sbin'],
  ...['sys', 'tmp', 'usr', 'var'],
]);

export interface ImagingGround {
  env: Record<string, string>;
  /** Where the practice's files are, and its database. */
  lent: string[];
  /** Where Pillow is: possibly within what is hidden. */
  needed: string[];
}

/** What local workers need for imaging, as the service's environment says. */
export function imagingGround(env: Environment): ImagingGround {
  const given = Object.fromEntries(variables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const database = sqliteFile(given['PRACTICE_DATABASE']);
  // A worker stands somewhere else than we.
  if (database) given['PRACTICE_DATABASE'] = `sqlite:///${database}`;
  for (const name of ['IMAGING_ROOT', 'IMAGING_ALLOWED_ROOTS']) {
    if (given[name]) given[name] = given[name].split(';').map(fromHere).join(';');
  }
  const { IMAGING_ROOT = '', IMAGING_ALLOWED_ROOTS = '', IMAGING_DATA_FILE = '', IMAGING_PATH_MAP = '' } = given;
  const mapped = IMAGING_PATH_MAP.split(';').map((each) => each.slice(each.indexOf('=') + 1));
  const folders = [IMAGING_ROOT, ...IMAGING_ALLOWED_ROOTS.split(';'), ...mapped].map((each) => each.trim());
  const files = [IMAGING_DATA_FILE.trim(), database ?? ''];
  const [packages = '', libraries = ''] = [given['IMAGING_PYTHONPATH'], given['IMAGING_LIBRARY_PATH']];
  return {
    env: given,
    // A file by its folder: what writes it may put another one in its place, and SQLite looks beside it.
    lent: pathsOf([...folders, ...files.filter(isAbsolute).map(placeOf)]),
    needed: pathsOf([...packages.split(delimiter), ...libraries.split(delimiter)]),
  };
}

/** Shares and paths of other systems are nobody's here. */
function fromHere(path: string): string {
  const text = path.trim();
  return text === '' || /^[/\\]|^[A-Za-z]:/.test(text) ? text : resolve(text);
}

function placeOf(file: string): string {
  const folder = dirname(file);
  return isOfSystem(folder) ? file : folder;
}

function sqliteFile(practiceDatabase = ''): string | null {
  const path = /^sqlite:\/\/\/(.+)$/.exec(practiceDatabase.trim())?.[1];
  return path ? resolve(path) : null;
}

/** The system's own folders are there as they are, or stay away: /images is a practice's, /tmp and / are not. */
function pathsOf(paths: string[]): string[] {
  return [...new Set(paths.filter((path) => isAbsolute(path) && !isOfSystem(path)))];
}

function isOfSystem(path: string): boolean {
  return resolve(path) === '/' || (dirname(resolve(path)) === '/' && systemFolders.has(basename(path)));
}
