import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Process {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /**
   * Start time in clock ticks since the machine's start. Distinguishes a process from a later process with the same
   * pid.
   */
  startTime: string;
}

/** Identifies the processes of a run, even if they have left its process group. */
export interface Marker {
  runId: string;
  root: { pid: number; startTime: string } | null;
}

/** Reads /proc/<pid>/stat; returns null if the process does not exist or is a zombie. */
export function readProcess(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may contain any characters.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (['Z', 'X', 'x'].includes(fields[0]!)) return null;
    const [parent, group, session] = fields.slice(1, 4).map(Number);
    return { pid, parent: parent!, group: group!, session: session!, startTime: fields[19]! };
  } catch {
    return null;
  }
}

export function isAlive({ pid, startTime }: { pid: number; startTime: string }): boolean {
  return readProcess(pid)?.startTime === startTime;
}

export function readEnvironment(pid: number): Record<string, string> {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'utf8');
    return Object.fromEntries(
      text.split('\0').flatMap((entry) => {
        const at = entry.indexOf('=');
        return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
      }),
    );
  } catch {
    return {};
  }
}

/** Finds all processes of the run: by its mark in the environment, by descent, by process group and by session. */
export function findProcesses({ runId, root }: Marker): Process[] {
  const all = listAllProcesses();
  const rootLives = root !== null && all.some(({ pid, startTime }) => pid === root.pid && startTime === root.startTime);
  const mark = `MUSTER_RUN_ID=${runId}`;
  const found = new Map<number, Process>();
  for (const process of all) {
    const inGroup = rootLives && (process.group === root.pid || process.session === root.pid);
    if (inGroup || readProcessMarks(process.pid).includes(mark)) found.set(process.pid, process);
  }
  for (let grown = found.size > 0; grown;) {
    const more = all.filter(({ pid, parent }) => found.has(parent) && !found.has(pid));
    for (const process of more) found.set(process.pid, process);
    grown = more.length > 0;
  }
  found.delete(process.pid);
  return [...found.values()];
}

/** Time until which processes get only SIGTERM. It may be shortened while killProcesses runs. */
export interface Grace {
  until?: number;
}

const giveUpMs = 30_000;

/**
 * Sends SIGTERM to all processes of the run, and SIGKILL after the grace period, until none is left. Returns the number
 * of processes that could not be killed, which is zero unless processes hang in the kernel.
 */
export async function killProcesses(marker: Marker, graceMs: number, grace: Grace = {}): Promise<number> {
  grace.until = Math.min(grace.until ?? Infinity, Date.now() + graceMs);
  const termed = new Set<number>();
  let root = marker.root?.pid;
  for (;;) {
    const left = findProcesses(marker);
    if (!left.length) return 0;
    const now = Date.now();
    const termUntil = grace.until;
    if (now > termUntil + giveUpMs) return left.length;
    root ??= left.sort((a, b) => Number(a.startTime) - Number(b.startTime))[0]!.pid;
    // The launcher is killed last: orphans become its children, and are recognized by that.
    const others = left.filter(({ pid }) => pid !== root);
    for (const { pid } of others.length ? others : left) {
      if (now >= termUntil || !others.length) signalProcess(pid, 'SIGKILL');
      else if (!termed.has(pid)) {
        termed.add(pid);
        signalProcess(pid, 'SIGTERM');
        // A stopped process handles SIGTERM only when it continues.
        signalProcess(pid, 'SIGCONT');
      }
    }
    await sleep(Math.min(40, Math.max(5, termUntil - now)));
  }
}

export function signalProcesses(marker: Marker, name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of findProcesses(marker)) signalProcess(pid, name);
}

function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended since the list of processes was read.
  }
}

function listAllProcesses(): Process[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.map((name) => readProcess(Number(name))).filter((process) => process !== null);
}

function readProcessMarks(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'latin1');
    return text.includes('MUSTER_RUN_ID=') ? text.split('\0') : [];
  } catch {
    return [];
  }
}
