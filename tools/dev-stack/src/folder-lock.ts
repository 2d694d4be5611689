import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DevStackError, readProcessIdentity, runProgram } from './process';

const pollMs = 50;

/** Time that a Muster may take to end after a signal, in milliseconds. */
export const endWithinMs = 30_000;

/**
 * Locks a data folder for this process. If the holder of the lock is ending, it waits for that. The lock is a symbolic
 * link: a link is created together with its text in one step, so no process ever reads an incomplete lock.
 */
export async function lockFolder(dataDir: string, withinMs = endWithinMs): Promise<() => Promise<void>> {
  const file = getLockFile(dataDir);
  const ownText = await describeProcess(process.pid);
  const leftOver = new DevStackError(`The lock ${file} was left behind by a process that died; run \`rm ${file}\`.`);
  while (!(await symlinkUnlessPresent(ownText, file))) {
    const holder = await readHolder(file);
    if (holder === 'none') continue; // the lock was just released
    if (holder === 'unknown') throw leftOver;
    if (await isHolderAlive(holder)) {
      if (holder.isEnding && (await waitForEndOf(dataDir, { withinMs })) === 'ended') continue;
      throw new DevStackError(
        `Another Muster (pid ${holder.pid}) is using ${dataDir}; stop it with \`kill ${holder.pid}\`, or choose another folder with --data-dir.`,
      );
    }
    // The holder is dead. Several processes may notice that at once. The removal therefore runs under a kernel lock on
    // the folder, which cannot be left behind, and removes only this holder's link, not that of a faster process.
    const remove = '[ "$(readlink "$1")" != "$2" ] || rm "$1"';
    const command = ['flock', dataDir, 'sh', '-c', remove, 'sh', file, holder.text];
    if (!(await runProgram({ command, env: { PATH: '/usr/bin:/bin' } })).ok) throw leftOver;
  }
  return () => rm(file, { force: true });
}

/** Marks the lock, so that the next process that needs the folder waits for it. */
export async function markLockAsEnding(dataDir: string): Promise<void> {
  const file = getLockFile(dataDir);
  const ownText = await describeProcess(process.pid);
  if ((await readlink(file).catch(() => '')) !== ownText) return;
  const next = `${file}.${process.pid}`;
  await rm(next, { force: true });
  await symlink(`${ownText} ending`, next);
  await rename(next, file);
}

/**
 * Waits for a Muster process that uses this folder and is shutting down. Returns 'ended' if it shut down or had already
 * died, 'free' if no process had locked the folder, and 'held' if a process keeps using it.
 */
export async function waitForEndOf(
  dataDir: string,
  { withinMs = endWithinMs, onWait = (_pid: number) => {} } = {},
): Promise<'free' | 'ended' | 'held'> {
  const file = getLockFile(dataDir);
  const deadline = Date.now() + withinMs;
  for (let polls = 0; ; polls += 1) {
    const holder = await readHolder(file);
    if (holder === 'none') return polls ? 'ended' : 'free';
    if (holder === 'unknown') return 'held';
    if (!(await isHolderAlive(holder))) return 'ended';
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

async function readHolder(file: string): Promise<Holder | 'none' | 'unknown'> {
  const text = await readlink(file).catch((error: NodeJS.ErrnoException) => error);
  if (typeof text !== 'string') return text.code === 'ENOENT' || text.code === 'ENOTDIR' ? 'none' : 'unknown';
  const [pid, identity, state] = text.split(' ');
  if (!pid || !identity) return 'unknown';
  return { text, pid: Number(pid), identity, isEnding: state === 'ending' };
}

async function isHolderAlive({ pid, identity }: Holder): Promise<boolean> {
  return (await readProcessIdentity(pid)) === identity;
}

async function describeProcess(pid: number): Promise<string> {
  return `${pid} ${await readProcessIdentity(pid)}`;
}

function getLockFile(dataDir: string): string {
  return join(dataDir, 'lock');
}

async function symlinkUnlessPresent(text: string, file: string): Promise<boolean> {
  try {
    await symlink(text, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
