import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programEnv, type PostgresInstall } from './postgres-install';
import type { PostgresUser } from './postgres-user';
import { DevStackError, endLeftovers, programFault, run } from './process';
import { type PartSetting } from './server';

/** Where the database's files are. */
export interface ClusterPlace {
  data: string;
  /** Outside the data folder, because the user who runs Postgres cannot reach into that. */
  outside?: string;
}

const systemFolder = '/var/lib';

/** In the part's folder wherever the user who runs Postgres gets there; else below /var/lib, noted in the part's folder. */
export async function placeCluster(setting: PartSetting, user: PostgresUser): Promise<ClusterPlace> {
  const { dataDir, folder, env } = setting;
  const noted = (await readFile(noteFile(folder), 'utf8').catch(() => '')).trim();
  if (noted) {
    const data = join(noted, 'data');
    if ((await majorOf(data)) === undefined)
      throw new DevStackError(
        `The database of ${dataDir} was in ${noted}, which no longer exists; restore that folder, or start with --reset to create an empty database.`,
      );
    return { data, outside: noted };
  }

  const inside = join(folder, 'data');
  if (!user.isAnother) return { data: inside };
  for (const each of [dataDir, folder]) {
    const { mode } = await stat(each);
    if (mode & 0o001) continue;
    await chown(each, process.getuid!(), user.gid);
    await chmod(each, (mode & 0o777) | 0o010); // this one group may pass through, and list nothing
  }
  if ((await run(user.as({ command: ['test', '-x', folder], env: programEnv(env) }))).ok) return { data: inside };

  const outside = join(systemFolder, `muster-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`);
  const data = join(outside, 'data');
  await mkdir(outside, { recursive: true, mode: 0o711 });
  // Without a note this is what a reset left behind.
  await endLeftovers(data, ['postgres'], 'SIGQUIT');
  await rm(data, { recursive: true, force: true });
  if ((await majorOf(inside)) !== undefined) {
    await run({ command: ['mv', inside, data], env: programEnv(env) });
    await writeFile(noteFile(folder), `${outside}\n`);
  }
  return { data, outside };
}

/** The major version that made this data; undefined when there is none yet. */
export async function majorOf(data: string): Promise<number | undefined> {
  return Number(await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => '')) || undefined;
}

/** Makes the database where there is none yet, and gives it to the user who runs it today. */
export async function ensureCluster(
  setting: PartSetting,
  { place, install, user }: { place: ClusterPlace; install: PostgresInstall; user: PostgresUser },
): Promise<void> {
  const { data, outside } = place;
  if ((await majorOf(data)) === undefined) {
    if ((await readdir(data).catch(() => [])).length)
      throw new DevStackError(
        `The database in ${data} is damaged; restore a backup, or start with --reset to create an empty one.`,
      );
    setting.onProgress(`postgres: creating the database in ${data} (once)`);
    await makeCluster(setting, { place, install, user });
    if (outside) await writeFile(noteFile(setting.folder), `${outside}\n`);
  } else if ((await stat(data)).uid !== user.uid) {
    await run({ command: ['chown', '-R', `${user.uid}:${user.gid}`, data], env: programEnv(setting.env) });
  }
}

// Made under another name and renamed: an interrupted attempt leaves nothing that looks like a database.
async function makeCluster(
  { password, durable, env }: PartSetting,
  { place: { data }, install, user }: { place: ClusterPlace; install: PostgresInstall; user: PostgresUser },
): Promise<void> {
  const fresh = `${data}.new`;
  const passwordFile = `${data}.password`;
  try {
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { mode: 0o700 });
    await rm(passwordFile, { force: true });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    for (const path of user.isAnother ? [fresh, passwordFile] : []) await chown(path, user.uid, user.gid);
    const command = [
      join(install.bin, 'initdb'),
      `--pgdata=${fresh}`,
      `--pwfile=${passwordFile}`,
      '--username=muster',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      ...(durable ? [] : ['--no-sync']),
    ];
    const { ok, output } = await run(user.as({ command, env: programEnv(env) }));
    if (!ok) throw programFault('Postgres (initdb)', output, data);
    await rename(fresh, data);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(fresh, { recursive: true, force: true });
  }
}

function noteFile(folder: string): string {
  return join(folder, 'kept-in');
}
