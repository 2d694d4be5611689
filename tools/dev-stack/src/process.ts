import { spawn, type ChildProcess } from 'node:child_process';
import { readFile, readdir, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Time that a process has to end after the stop signal, before it is killed. */
export const stopTimeoutMs = 10_000;
const pollMs = 25;

/** An error for the user. Its message is one sentence with the problem and the command or setting that fixes it. */
export class DevStackError extends Error {
  override name = 'DevStackError';
}

export interface Launch {
  command: string[];
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  cwd?: string;
  stdin?: string;
}

/** Converts the output of a program that failed to start into an error with a helpful sentence. */
export function createProgramError(program: string, output: string, folder: string, logFile?: string): DevStackError {
  if (isDiskFullOutput(output)) return createDiskFullError(folder);
  const library = /error while loading shared libraries: ([^\s:]+)/.exec(output)?.[1];
  if (library)
    return new DevStackError(
      `${program} does not run because the library ${library} is missing; install the package that contains it.`,
    );
  const lines = output.split('\n').filter((line) => line.trim());
  const line =
    lines.findLast((each) => /FATAL|PANIC|ERROR|error:|\*\*\*/.test(each)) ?? lines.at(-1) ?? 'it printed no output';
  return new DevStackError(`${program} did not start: ${line.trim()}${logFile ? `; see ${logFile}` : ''}.`);
}

export function isDiskFullOutput(output: string): boolean {
  return /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/i.test(output);
}

export function createDiskFullError(folder: string): DevStackError {
  return new DevStackError(
    `The disk is full at ${folder}; free some space there, or choose a folder elsewhere with --data-dir.`,
  );
}

/** Runs a command to its end. Like every other child, it ends with this process. */
export async function runProgram(launch: Launch): Promise<{ ok: boolean; output: string }> {
  const child = spawnGuarded(launch, 'pipe', 'SIGTERM');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  await new Promise((resolve) => child.once('close', resolve));
  return { ok: child.exitCode === 0, output };
}

// A child waits for its first line of input until its guard runs, so this process cannot die without a guard for its
// child.
const waitForGuard = 'read -r go && exec "$@"';
// The guard's `read` ends when this process sends a line or has died in any way, including SIGKILL. Unlike the kernel's
// parent-death signal, the guard also wakes a stopped child.
const guard = `
read -r done && exit
kill -s "$1" "$2" && kill -s CONT "$2" || exit
for try in 1 2 3 4 5 6 7 8; do sleep 1; kill -0 "$2" || exit; done
kill -s KILL "$2"`;

export function spawnGuarded(launch: Launch, out: number | 'pipe', orphanSignal: NodeJS.Signals): ChildProcess {
  const { command, env, uid, gid, cwd = '/', stdin = '' } = launch;
  // Detached: a separate session, so that Ctrl-C in the terminal reaches only this process, which stops the servers in
  // order.
  const options = { cwd, env, uid, gid, detached: true };
  const child = spawn('/bin/sh', ['-c', waitForGuard, 'sh', ...command], { ...options, stdio: ['pipe', out, out] });
  if (!child.pid) {
    child.once('error', () => undefined);
    throw new DevStackError(
      `No process can be started here (${command[0]}); check the limits on processes and memory.`,
    );
  }
  const watcher = spawn('/bin/sh', ['-c', guard, 'sh', orphanSignal.slice(3), String(child.pid)], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  (watcher.stdin as unknown as { unref(): void }).unref();
  watcher.stdin.on('error', () => undefined);
  child.once('exit', () => watcher.stdin.end('done\n'));
  child.stdin!.on('error', () => undefined); // the child ended before it read all input; its exit code is reported
  child.stdin!.end(`go\n${stdin}`);
  return child;
}

export function waitForExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

/**
 * Returns a text that identifies a process uniquely, even if its pid is reused later; undefined if the process is not
 * alive.
 */
export async function readProcessIdentity(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (!text || fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return `${boot.trim()}/${fields[19]}`;
}

/**
 * Ends programs that still run in this working folder although their parent has exited. No other processes use the
 * folder as their working folder.
 */
export async function endLeftovers(folder: string, programs: string[], signal: NodeJS.Signals): Promise<void> {
  const isInFolder = async (pid: string) => {
    const [cwd, name] = await Promise.all([
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      readFile(`/proc/${pid}/comm`, 'utf8').catch(() => ''),
    ]);
    return cwd === folder && programs.includes(name.trim()) && (await readProcessIdentity(Number(pid))) !== undefined;
  };
  const findLeftovers = async () => {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const matches = await Promise.all(pids.map(isInFolder));
    return pids.filter((_, index) => matches[index]).map(Number);
  };

  const deadline = Date.now() + stopTimeoutMs;
  for (let left = await findLeftovers(), first = true; left.length; left = await findLeftovers(), first = false) {
    if (first) left.forEach((pid) => [signal, 'SIGCONT'].forEach((each) => signalProcess(pid, each)));
    if (Date.now() > deadline) left.forEach((pid) => signalProcess(pid, 'SIGKILL'));
    await delay(pollMs);
  }
}

function signalProcess(pid: number, signal: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
