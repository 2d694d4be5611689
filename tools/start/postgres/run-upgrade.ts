import { fork } from 'node:child_process';
import { join } from 'node:path';
import { StartError } from '../options';
import { findPostgresUpgrade } from './find-upgrade';
import type { UpgradeMessage } from './upgrade-process';

/** Moves the data folder's database to the Postgres of this machine if an older major version created it. */
export async function runPostgresUpgrade(
  dataDir: string,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<void> {
  const upgrade = await findPostgresUpgrade(dataDir, env);
  if (!upgrade) return;
  const child = fork(join(__dirname, 'upgrade-process.js'), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: UpgradeMessage) => {
      if ('progress' in message) say(message.progress);
      else if ('startError' in message) reject(new StartError(message.startError));
      else if ('fault' in message) reject(new Error(message.fault));
      else resolve();
    });
    child.once('exit', (code, signal) =>
      reject(new Error(`the database could not be moved to Postgres ${upgrade.to} (${signal ?? `code ${code}`})`)),
    );
    child.send({ dataDir, upgrade });
  });
}
