import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { newId } from '@muster/platform';

/** How the worker of a local agent is kept from the service and from other agents. */
export interface Confinement {
  /** A user of its own; only root can give it one. */
  account: boolean;
  /** Processes and a file system of its own. */
  namespaces: boolean;
  /** Why there is neither. */
  fault?: string;
}

export const unconfined: Confinement = { account: false, namespaces: false };

export interface ConfinementInput {
  /** The folder of all local agents. */
  root: string;
  program: string;
  /** The environment that workers get. */
  baseEnv: Record<string, string>;
  /** Further paths that no script may see, such as files with secrets. */
  secretPaths: string[];
  /** Further paths that every worker may read as their owner does, where they are not hidden. */
  lent?: string[];
  /** And those that it must. */
  needed?: string[];
}

/** A worker's part of the machine. */
export interface Confined {
  account: number | null;
  machine: string;
  home: string;
  lease: string;
  command: string[];
}

/** The best that can be had here, found by trying it. */
export async function findConfinement(input: ConfinementInput): Promise<Confinement> {
  const isRoot = process.getuid!() === 0;
  const candidates = [{ account: isRoot, namespaces: true }, ...(isRoot ? [{ account: true, namespaces: false }] : [])];
  let fault = '';
  for (const candidate of candidates) {
    const found = await faultOf(candidate, input);
    if (!found) return candidate;
    fault ||= found;
  }
  return { ...unconfined, fault };
}

/** The command that runs the worker confined. */
export function confine(confinement: Confinement, worker: Confined, input: ConfinementInput): string[] {
  const { account, machine, home, lease, command } = worker;
  if (!confinement.account && !confinement.namespaces) return command;
  const order = {
    command,
    machine,
    home,
    uid: account,
    namespaces: confinement.namespaces,
    readable: readablePaths(input.baseEnv),
    lent: input.lent ?? [],
    // Beside the folder of all agents are the service's database and keys; beside its code may be its settings.
    hidden: [dirname(input.root), input.root, codeFolder, ...input.secretPaths].filter(isBelowSystemFolder),
    needed: [
      ...partsOf(input.program),
      process.execPath,
      lease,
      ...(input.needed ?? []).filter((path) => existsSync(path)),
    ],
  };
  return [pythonOf(input.baseEnv), '-I', '-S', confinePy, JSON.stringify(order)];
}

const confinePy = join(__dirname, 'confine.py');
const built = resolve(__dirname, '../../../..');
const codeFolder = basename(built) === 'dist' ? dirname(built) : built;
const contracts = join(built, 'libs/contracts/src');
const tryMs = 15_000;

/** Runs a worker's needs once: its program is there to read, and Python to run. */
async function faultOf(confinement: Confinement, input: ConfinementInput): Promise<string | null> {
  const { root, program, baseEnv } = input;
  const folder = join(root, `.try-${newId()}`);
  const machine = join(folder, 'machine');
  const lease = join(folder, 'lease');
  const account = confinement.account ? 65_533 : null;
  try {
    await mkdir(machine, { recursive: true, mode: 0o700 });
    await writeFile(lease, '');
    if (account) {
      await openFolders(root, folder);
      await chown(machine, account, account);
    }
    const python = JSON.stringify(baseEnv['PYTHON'] ?? 'python3');
    const attempt = `require('fs').accessSync(${JSON.stringify(program)});
      const { status, error } = require('child_process').spawnSync(${python}, ['-c', '']);
      if (status !== 0) throw error ?? new Error(${python} + ' ends with ' + status);`;
    const command = [process.execPath, '-e', attempt];
    return await saidBy(confine(confinement, { account, machine, home: machine, lease, command }, input), baseEnv);
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Another user has to get to its own folder through those around it; it can list neither. */
export async function openFolders(...folders: string[]): Promise<void> {
  for (const folder of folders) await chmod(folder, 0o711);
}

function saidBy([program, ...args]: string[], env: Record<string, string>): Promise<string | null> {
  return new Promise((done) => {
    const child = spawn(program!, args, { cwd: '/', env, stdio: ['ignore', 'ignore', 'pipe'] });
    const late = setTimeout(() => child.kill('SIGKILL'), tryMs);
    let said = '';
    child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
    const end = (fault: string | null) => {
      clearTimeout(late);
      done(fault);
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code) => {
      const lines = said.split('\n').filter(Boolean);
      const line = lines.find((each) => /^(confine|\w*Error):/.test(each)) ?? lines.at(-1) ?? `it ended with ${code}`;
      end(code === 0 ? null : line.replace(/^confine: /, ''));
    });
  });
}

/** What was built with the service is of many files, and takes words of the wire from contracts; any other is one. */
function partsOf(program: string): string[] {
  return program.startsWith(`${codeFolder}/`)
    ? [dirname(program), contracts].filter((path) => existsSync(path))
    : [program];
}

/** Without /usr itself, or /tmp, there would be no ground to stand on. */
function isBelowSystemFolder(path: string): boolean {
  return dirname(path) !== '/' && path !== '/';
}

/** Where programs are outside of the system's own folders: a Python or Node of one's own, a browser. */
function readablePaths({ PATH = '', PYTHON, CHROMIUM, SSL_CERT_FILE }: Record<string, string>): string[] {
  const folders = PATH.split(delimiter).filter(isAbsolute);
  const programs = [process.execPath, PYTHON, CHROMIUM].filter((path) => path !== undefined && isAbsolute(path));
  const beside = programs.flatMap((path) => [path!, realpathOf(path!)]).map(dirname);
  const found = [...folders, ...beside].flatMap((folder) => {
    const above = dirname(folder);
    if (basename(folder) === 'shims') return [above];
    // A program's libraries are beside its folder, and nothing else of a home is.
    return [
      folder,
      join(above, 'lib'),
      join(above, 'pyvenv.cfg'),
      ...(basename(folder) === 'bin' ? [join(above, 'lib64')] : []),
    ];
  });
  const all = [...found, ...(SSL_CERT_FILE ? [SSL_CERT_FILE] : [])];
  return [...new Set(all)].filter((path) => existsSync(path)).sort();
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The service's own, to begin with; the scripts' is found by the worker. */
function pythonOf({ PYTHON }: Record<string, string>): string {
  return PYTHON ?? 'python3';
}
