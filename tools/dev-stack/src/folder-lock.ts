import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DevStackError, processIdentity, run } from './process';

const pollMs = 50;

/** How long a Muster that was asked to end may take. */
export const endWithinMs = 30_000;

/**
 * Locks a data folder for this process. Where the holder is about to end, it waits for that. The lock is a symbolic
 * link, which is made in one step with its text, so that nobody ever reads half a lock.
 */
export async function lockFolder(dataDir: string, withinMs = endWithinMs): Promise<() => Promise<void>> {
  const file = fileOf(dataDir);
  const mine = await textOf(process.pid);
  const leftOver = new DevStackError(`The lock ${file} was left by a process that has died; run \`rm ${file}\`.`);
  while (!(await symlinkUnlessThere(mine, file))) {
    const holder = await holderOf(file);
    if (holder === 'none') continue; // it has just let go
    if (holder === 'unknown') throw leftOver;
    if (await isAlive(holder)) {
      if (holder.isEnding && (await waitForEndOf(dataDir, { withinMs })) === 'ended') continue;
      throw new DevStackError(
        `Another Muster (pid ${holder.pid}) is using ${dataDir}; end it with \`kill ${holder.pid}\`, or choose another folder with --data-dir.`,
      );
    }
    // Its holder is dead. Several may see that at once: under the folder's kernel lock, which nobody can leave behind,
    // only this very link is removed and never the one of who was faster.
    const remove = '[ "$(readlink "$1")" != "$2" ] || rm "$1"';
    const command = ['flock', dataDir, 'sh', '-c', remove, 'sh', file, holder.text];
    if (!(await run({ command, env: { PATH: '/usr/bin:/bin' } })).ok) throw leftOver;
  }
  return () => rm(file, { force: true });
}

/** Lets whoever wants the folder next know that it is about to be free. */
export async function markEnding(dataDir: string): Promise<void> {
  const file = fileOf(dataDir);
  const mine = await textOf(process.pid);
  if ((await readlink(file).catch(() => '')) !== mine) return;
  const next = `${file}.${process.pid}`;
  await rm(next, { force: true });
  await symlink(`${mine} ending`, next);
  await rename(next, file);
}

/**
 * Waits for a Muster that is about to end on this folder. Answers 'ended' where there was one and it is gone, also one
 * that had died without a word; 'free' where nobody has the folder; 'held' where somebody goes on using it.
 */
export async function waitForEndOf(
  dataDir: string,
  { withinMs = endWithinMs, onWait = (_pid: number) => {} } = {},
): Promise<'free' | 'ended' | 'held'> {
  const file = fileOf(dataDir);
  const deadline = Date.now() + withinMs;
  for (let polls = 0; ; polls += 1) {
    const holder = await holderOf(file);
    if (holder === 'none') return polls ? 'ended' : 'free';
    if (holder === 'unknown') return 'held';
    if (!(await isAlive(holder))) return 'ended';
    if (!holder.isEnding || Date.now() > deadline) return 'held';
    if (polls === 0) onWait(holder.pid);
    await delay(pollMs);
  }
}

interface Holder {
  text: string;
  pid: number;
  identity: string;
  isEnding: boolean;
}

async function holderOf(file: string): Promise<Holder | 'none' | 'unknown'> {
  const text = await readlink(file).catch((error: NodeJS.ErrnoException) => error);
  if (typeof text !== 'string') return text.code === 'ENOENT' || text.code === 'ENOTDIR' ? 'none' : 'unknown';
  const [pid, identity, state] = text.split(' ');
  if (!pid || !identity) return 'unknown';
  return { text, pid: Number(pid), identity, isEnding: state === 'ending' };
}

async function isAlive({ pid, identity }: Holder): Promise<boolean> {
  return (await processIdentity(pid)) === identity;
}

async function textOf(pid: number): Promise<string> {
  return `${pid} ${await processIdentity(pid)}`;
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'lock');
}

async function symlinkUnlessThere(text: string, file: string): Promise<boolean> {
  try {
    await symlink(text, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
