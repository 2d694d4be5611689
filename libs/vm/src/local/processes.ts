import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Identifies a process, and no later process with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start of the process in clock ticks since the boot of the computer. */
  startTime: string;
}

interface Process extends ProcessIdentity {
  parent: number;
  group: number;
  session: number;
}

/** Reads a process from /proc. Returns null if it has ended, also if its parent has not waited for it yet. */
function readProcess(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (['Z', 'X', 'x'].includes(fields[0]!)) return null;
    const [parent, group, session] = fields.slice(1, 4).map(Number);
    return { pid, parent: parent!, group: group!, session: session!, startTime: fields[19]! };
  } catch {
    return null;
  }
}

export function identifyProcess(pid: number): ProcessIdentity | null {
  const found = readProcess(pid);
  return found && { pid, startTime: found.startTime };
}

/** Returns an identity for a worker that ended before its start time could be read. */
export function createUnknownIdentity(pid: number) {
  return { pid, startTime: 'unknown' };
}

export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  return readProcess(pid)?.startTime === startTime;
}

/**
 * Returns the oldest process whose environment has exactly this entry. A script of another agent may set the same
 * entry, but it has another account or process namespace and is ignored.
 */
export function findProcessByEnvironment(entry: string, account: number | null): ProcessIdentity | null {
  const accounts = [process.getuid!(), account];
  const found = listAllProcesses().filter(
    ({ pid }) =>
      readProcessEnvironment(pid).includes(entry) &&
      accounts.includes(readProcessAccount(pid)) &&
      isInOwnNamespace(pid),
  );
  const [oldest] = found.sort((a, b) => Number(a.startTime) - Number(b.startTime));
  return oldest ? { pid: oldest.pid, startTime: oldest.startTime } : null;
}

export interface Tree {
  /** Every process with a MUSTER_ variable that points into this folder belongs to the tree. */
  folder: string;
  root: ProcessIdentity | null;
  /** Every process of this account belongs to the tree, too. */
  account?: number | null;
}

/**
 * Ends a worker and all processes that it started. Sends SIGTERM to the worker, which may end its work in order. Then
 * sends SIGTERM and SIGKILL to the remaining processes. Returns how many could not be ended, because the kernel blocks
 * them.
 */
export async function endProcessTree(
  tree: Tree,
  { graceMs, skipGrace }: { graceMs: number; skipGrace?: AbortSignal },
): Promise<number> {
  const observed = new Map<number, Process>();
  const refreshProcesses = () => {
    for (const found of findProcessesOfTree(tree, observed)) observed.set(found.pid, found);
    const left = [...observed.values()].filter(isAlive);
    observed.clear();
    for (const found of left) observed.set(found.pid, found);
    return left;
  };
  refreshProcesses();
  if (tree.root && isAlive(tree.root)) {
    sendSignals(tree.root.pid, 'SIGTERM');
    await waitUntilTrue(() => !isAlive(tree.root!) || skipGrace?.aborted === true, graceMs);
    if (skipGrace?.aborted) await waitUntilTrue(() => !isAlive(tree.root!), Math.min(graceMs, 3000));
  }
  for (const { pid } of refreshProcesses()) sendSignals(pid, 'SIGTERM', 'SIGCONT');
  await waitUntilTrue(() => refreshProcesses().length === 0, Math.min(graceMs, 2000));
  for (let round = 0; round < 200; round += 1) {
    const left = refreshProcesses();
    if (left.length === 0) return 0;
    for (const { pid } of left) sendSignals(pid, 'SIGKILL');
    await sleep(25);
  }
  return refreshProcesses().length;
}

/** Finds processes by environment, account, process group or session of the root, and descent from any of them. */
function findProcessesOfTree({ folder, root, account }: Tree, observed: ReadonlyMap<number, Process>): Process[] {
  const all = listAllProcesses();
  const rootLives = root !== null && isAlive(root);
  const found = new Set<number>();
  for (const each of all) {
    const inGroup = rootLives && (each.group === root.pid || each.session === root.pid);
    const wasKnown = observed.get(each.pid)?.startTime === each.startTime;
    const hasAccount = account ? readProcessAccount(each.pid) === account : false;
    if (inGroup || wasKnown || hasAccount || processPointsIntoFolder(each.pid, folder)) found.add(each.pid);
  }
  for (let grown = found.size > 0; grown;) {
    const more = all.filter(({ pid, parent }) => found.has(parent) && !found.has(pid));
    for (const { pid } of more) found.add(pid);
    grown = more.length > 0;
  }
  found.delete(process.pid);
  return all.filter(({ pid }) => found.has(pid));
}

/**
 * Whether a MUSTER_ variable of the process points into the folder. The worker and its runs have such a variable; a
 * user's shell in the folder has none.
 */
function processPointsIntoFolder(pid: number, folder: string): boolean {
  return readProcessEnvironment(pid).some((entry) => {
    if (!entry.startsWith('MUSTER_')) return false;
    const value = entry.slice(entry.indexOf('=') + 1);
    return value === folder || value.startsWith(`${folder}/`);
  });
}

function listAllProcesses(): Process[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.map((name) => readProcess(Number(name))).filter((found) => found !== null);
}

function readProcessEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function readProcessAccount(pid: number): number | null {
  try {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
  } catch {
    return null;
  }
}

function isInOwnNamespace(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync('/proc/self/ns/pid');
  } catch {
    return false;
  }
}

function sendSignals(pid: number, ...names: NodeJS.Signals[]): void {
  for (const name of names) {
    try {
      process.kill(pid, name);
    } catch {
      // The process has ended since the list of processes was read.
    }
  }
}

async function waitUntilTrue(condition: () => boolean, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition() && Date.now() < deadline) await sleep(25);
}
