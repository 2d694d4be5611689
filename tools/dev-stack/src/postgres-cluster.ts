import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildProgramEnv, type PostgresInstall } from './postgres-install';
import type { PostgresUser } from './choose-postgres-user';
import { DevStackError, endLeftovers, createProgramError, runProgram } from './process';
import { type PartSetting } from './server';

/** Location of the database's files. */
export interface ClusterPlace {
  data: string;
  /** Folder outside the data folder, because the user who runs Postgres cannot enter the data folder. */
  outside?: string;
}

const systemFolder = '/var/lib';

/**
 * Uses the server's folder if the user who runs Postgres can enter it; otherwise a folder below /var/lib, whose path is
 * stored in the server's folder.
 */
export async function chooseClusterPlace(setting: PartSetting, user: PostgresUser): Promise<ClusterPlace> {
  const { dataDir, folder, env } = setting;
  const noted = (await readFile(getNoteFilePath(folder), 'utf8').catch(() => '')).trim();
  if (noted) {
    const data = join(noted, 'data');
    if ((await readMajorVersion(data)) === undefined)
      throw new DevStackError(
        `The database of ${dataDir} was stored in ${noted}, which no longer exists; restore it, or start with --reset to begin with an empty one.`,
      );
    return { data, outside: noted };
  }

  const inside = join(folder, 'data');
  if (!user.isAnother) return { data: inside };
  for (const each of [dataDir, folder]) {
    const { mode } = await stat(each);
    if (mode & 0o001) continue;
    await chown(each, process.getuid!(), user.gid);
    await chmod(each, (mode & 0o777) | 0o010); // this group may enter the folder, but not list it
  }
  if ((await runProgram(user.as({ command: ['test', '-x', folder], env: buildProgramEnv(env) }))).ok)
    return { data: inside };

  const outside = join(systemFolder, `muster-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`);
  const data = join(outside, 'data');
  await mkdir(outside, { recursive: true, mode: 0o711 });
  // The stack has not noted that it uses this folder, so any data in the folder was left behind by a reset.
  await endLeftovers(data, ['postgres'], 'SIGQUIT');
  await rm(data, { recursive: true, force: true });
  if ((await readMajorVersion(inside)) !== undefined) {
    await runProgram({ command: ['mv', inside, data], env: buildProgramEnv(env) });
    await writeFile(getNoteFilePath(folder), `${outside}\n`);
  }
  return { data, outside };
}

/** Major version of Postgres that created the data; undefined if there is no data yet. */
export async function readMajorVersion(data: string): Promise<number | undefined> {
  return Number(await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '')) || undefined;
}

/** Creates the database if it does not exist. Otherwise changes its owner to the user who runs Postgres now. */
export async function ensureCluster(
  setting: PartSetting,
  { place, install, user }: { place: ClusterPlace; install: PostgresInstall; user: PostgresUser },
): Promise<void> {
  const { data, outside } = place;
  if ((await readMajorVersion(data)) === undefined) {
    if ((await readdir(data).catch(() => [])).length)
      throw new DevStackError(`The database in ${data} is damaged; start with --reset to begin with an empty one.`);
    setting.onProgress(`postgres: creating the database in ${data} (once)`);
    await createCluster(setting, { place, install, user });
    if (outside) await writeFile(getNoteFilePath(setting.folder), `${outside}\n`);
  } else if ((await stat(data)).uid !== user.uid) {
    await runProgram({ command: ['chown', '-R', `${user.uid}:${user.gid}`, data], env: buildProgramEnv(setting.env) });
  }
}

// Creates the database under another name and renames it, so that an interrupted attempt leaves nothing that looks like
// a database.
async function createCluster(
  { password, durable, env }: PartSetting,
  { place: { data }, install, user }: { place: ClusterPlace; install: PostgresInstall; user: PostgresUser },
): Promise<void> {
  const newData = `${data}.new`;
  const passwordFile = `${data}.password`;
  try {
    await rm(newData, { recursive: true, force: true });
    await mkdir(newData, { mode: 0o700 });
    await rm(passwordFile, { force: true });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    for (const path of user.isAnother ? [newData, passwordFile] : []) await chown(path, user.uid, user.gid);
    const command = [
      join(install.bin, 'initdb'),
      `--pgdata=${newData}`,
      `--pwfile=${passwordFile}`,
      '--username=muster',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      ...(durable ? [] : ['--no-sync']),
    ];
    const { ok, output } = await runProgram(user.as({ command, env: buildProgramEnv(env) }));
    if (!ok) throw createProgramError('Postgres (initdb)', output, data);
    await rename(newData, data);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(newData, { recursive: true, force: true });
  }
}

function getNoteFilePath(folder: string): string {
  return join(folder, 'kept-in');
}
