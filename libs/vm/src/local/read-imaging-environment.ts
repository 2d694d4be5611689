import { basename, delimiter, dirname, isAbsolute, resolve } from 'node:path';
import type { Environment } from '@muster/platform';

/** Variables for imaging commands, which the worker reads in apps/worker/src/settings.ts. */
const variables = [
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP'],
  ...['PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY'],
  // Location of the Pillow of `npm start`, if Python has none.
  ...['IMAGING_PYTHONPATH', 'IMAGING_LIBRARY_PATH'],
];

const systemFolders = new Set([
  ...['bin', 'boot', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'opt', 'proc', 'root', 'run', 'sbin'],
  ...['sys', 'tmp', 'usr', 'var'],
]);

export interface ImagingEnvironment {
  env: Record<string, string>;
  /** Paths of the organization's files and of its patient database. */
  ownerReadable: string[];
  /** Paths of Pillow, which may be in a hidden folder. */
  needed: string[];
}

/** Reads from the service's environment what local workers need for imaging. */
export function readImagingEnvironment(env: Environment): ImagingEnvironment {
  const values = Object.fromEntries(variables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const database = parseSqliteFile(values['PRACTICE_DATABASE']);
  // Relative paths are made absolute, because the working directory of a worker differs from that of the service.
  if (database) values['PRACTICE_DATABASE'] = `sqlite:///${database}`;
  for (const name of ['IMAGING_ROOT', 'IMAGING_ALLOWED_ROOTS']) {
    if (values[name]) values[name] = values[name].split(';').map(toAbsolutePath).join(';');
  }
  const { IMAGING_ROOT = '', IMAGING_ALLOWED_ROOTS = '', IMAGING_DATA_FILE = '', IMAGING_PATH_MAP = '' } = values;
  const mapped = IMAGING_PATH_MAP.split(';').map((each) => each.slice(each.indexOf('=') + 1));
  const folders = [IMAGING_ROOT, ...IMAGING_ALLOWED_ROOTS.split(';'), ...mapped].map((each) => each.trim());
  const files = [IMAGING_DATA_FILE.trim(), database ?? ''];
  const [packages = '', libraries = ''] = [values['IMAGING_PYTHONPATH'], values['IMAGING_LIBRARY_PATH']];
  return {
    env: values,
    // Contains a file's folder instead of the file: a writer may replace the file, and SQLite uses files next to it.
    ownerReadable: filterMountablePaths([...folders, ...files.filter(isAbsolute).map(getMountPath)]),
    needed: filterMountablePaths([...packages.split(delimiter), ...libraries.split(delimiter)]),
  };
}

/** Makes a relative path absolute. Shares and paths of other systems stay unchanged. */
function toAbsolutePath(path: string): string {
  const text = path.trim();
  return text === '' || /^[/\\]|^[A-Za-z]:/.test(text) ? text : resolve(text);
}

function getMountPath(file: string): string {
  const folder = dirname(file);
  return isSystemFolder(folder) ? file : folder;
}

function parseSqliteFile(practiceDatabase = ''): string | null {
  const path = /^sqlite:\/\/\/(.+)$/.exec(practiceDatabase.trim())?.[1];
  return path ? resolve(path) : null;
}

/** Removes relative paths and system folders: /images is an organization's folder; /tmp and / are not. */
function filterMountablePaths(paths: string[]): string[] {
  return [...new Set(paths.filter((path) => isAbsolute(path) && !isSystemFolder(path)))];
}

function isSystemFolder(path: string): boolean {
  return resolve(path) === '/' || (dirname(resolve(path)) === '/' && systemFolders.has(basename(path)));
}
