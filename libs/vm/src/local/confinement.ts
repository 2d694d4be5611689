import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { newId } from '@muster/platform';

/** How the worker of a local agent is isolated from the service and from other agents. */
export interface Confinement {
  /** Whether the worker has a separate user, which only root can assign. */
  account: boolean;
  /** Whether the worker has separate namespaces for processes and file systems. */
  namespaces: boolean;
  /** Reason why neither a separate user nor separate namespaces are available. */
  fault?: string;
}

export const unconfined: Confinement = { account: false, namespaces: false };

export interface ConfinementInput {
  /** Folder that contains the folders of all local agents. */
  root: string;
  program: string;
  /** Environment variables that every worker gets. */
  baseEnv: Record<string, string>;
  /** Further paths that no script may see, such as files with secrets. */
  secretPaths: string[];
  /** Further paths that every worker may read with the permissions of their owner, unless they are hidden. */
  ownerReadable?: string[];
  /** Further paths that every worker must be able to read, even if they are hidden. */
  needed?: string[];
}

/** User account, folders and command line of one confined worker. */
export interface Confined {
  account: number | null;
  machine: string;
  home: string;
  lease: string;
  command: string[];
}

/** Returns the best confinement that works on this machine, found by trials. */
export async function findConfinement(input: ConfinementInput): Promise<Confinement> {
  const isRoot = process.getuid!() === 0;
  const candidates = [{ account: isRoot, namespaces: true }, ...(isRoot ? [{ account: true, namespaces: false }] : [])];
  let fault = '';
  for (const candidate of candidates) {
    const found = await testConfinement(candidate, input);
    if (!found) return candidate;
    fault ||= found;
  }
  return { ...unconfined, fault };
}

/** Returns the command that runs the worker confined. */
export function buildConfinedCommand(confinement: Confinement, worker: Confined, input: ConfinementInput): string[] {
  const { account, machine, home, lease, command } = worker;
  if (!confinement.account && !confinement.namespaces) return command;
  const order = {
    command,
    machine,
    home,
    uid: account,
    namespaces: confinement.namespaces,
    readable: listReadablePaths(input.baseEnv),
    ownerReadable: input.ownerReadable ?? [],
    // Hides the folder next to the agents' folder, with the service's database and keys, and the code folder, which
    // may contain settings.
    hidden: [dirname(input.root), input.root, codeFolder, ...input.secretPaths].filter(isBelowSystemFolder),
    needed: [
      ...listProgramPaths(input.program),
      process.execPath,
      lease,
      ...(input.needed ?? []).filter((path) => existsSync(path)),
    ],
  };
  return [choosePythonOfConfinement(input.baseEnv), '-I', '-S', confinePy, JSON.stringify(order)];
}

const confinePy = join(__dirname, 'confine.py');
const built = resolve(__dirname, '../../../..');
const codeFolder = basename(built) === 'dist' ? dirname(built) : built;
const contracts = join(built, 'libs/contracts/src');
const tryMs = 15_000;

/** Tries a confinement: the worker program must be readable and Python must run. Returns the failure, or null. */
async function testConfinement(confinement: Confinement, input: ConfinementInput): Promise<string | null> {
  const { root, program, baseEnv } = input;
  const folder = join(root, `.try-${newId()}`);
  const machine = join(folder, 'machine');
  const lease = join(folder, 'lease');
  const account = confinement.account ? 65_533 : null;
  try {
    await mkdir(machine, { recursive: true, mode: 0o700 });
    await writeFile(lease, '');
    if (account) {
      await allowPassingThroughFolders(root, folder);
      await chown(machine, account, account);
    }
    const python = JSON.stringify(baseEnv['PYTHON'] ?? 'python3');
    const attempt = `require('fs').accessSync(${JSON.stringify(program)});
      const { status, error } = require('child_process').spawnSync(${python}, ['-c', '']);
      if (status !== 0) throw error ?? new Error(${python} + ' ends with ' + status);`;
    const command = [process.execPath, '-e', attempt];
    return await runConfinementTrial(
      buildConfinedCommand(confinement, { account, machine, home: machine, lease, command }, input),
      baseEnv,
    );
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Lets other users pass through these folders to their own folder. The other users still cannot list these folders.
 */
export async function allowPassingThroughFolders(...folders: string[]): Promise<void> {
  for (const folder of folders) await chmod(folder, 0o711);
}

function runConfinementTrial([program, ...args]: string[], env: Record<string, string>): Promise<string | null> {
  return new Promise((done) => {
    const child = spawn(program!, args, { cwd: '/', env, stdio: ['ignore', 'ignore', 'pipe'] });
    const late = setTimeout(() => child.kill('SIGKILL'), tryMs);
    let stderr = '';
    child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
    const finishTrial = (fault: string | null) => {
      clearTimeout(late);
      done(fault);
    };
    child.once('error', (error) => finishTrial(error.message));
    child.once('close', (code) => {
      const lines = stderr.split('\n').filter(Boolean);
      const line =
        lines.find((each) => /^(confine|\w*Error):/.test(each)) ??
        lines.at(-1) ??
        `a test of the isolation ended with exit code ${code}`;
      finishTrial(code === 0 ? null : line.replace(/^confine: /, ''));
    });
  });
}

/** Returns the paths of a worker program. The one that is built with the service has a folder and uses contracts. */
function listProgramPaths(program: string): string[] {
  return program.startsWith(`${codeFolder}/`)
    ? [dirname(program), contracts].filter((path) => existsSync(path))
    : [program];
}

/** Whether a path can be hidden. No program could run without a top-level folder such as /usr or /tmp. */
function isBelowSystemFolder(path: string): boolean {
  return dirname(path) !== '/' && path !== '/';
}

/** Returns the paths of programs outside the system folders, such as a separate Python, Node or browser. */
function listReadablePaths({ PATH = '', PYTHON, CHROMIUM, SSL_CERT_FILE }: Record<string, string>): string[] {
  const folders = PATH.split(delimiter).filter(isAbsolute);
  const programs = [process.execPath, PYTHON, CHROMIUM].filter((path) => path !== undefined && isAbsolute(path));
  const programFolders = programs.flatMap((path) => [path!, resolveRealPath(path!)]).map(dirname);
  const found = [...folders, ...programFolders].flatMap((folder) => {
    const parent = dirname(folder);
    if (basename(folder) === 'shims') return [parent];
    // Only the libraries next to a program's folder are added, because the parent may be a home folder.
    return [
      folder,
      join(parent, 'lib'),
      join(parent, 'pyvenv.cfg'),
      ...(basename(folder) === 'bin' ? [join(parent, 'lib64')] : []),
    ];
  });
  const all = [...found, ...(SSL_CERT_FILE ? [SSL_CERT_FILE] : [])];
  return [...new Set(all)].filter((path) => existsSync(path)).sort();
}

function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Returns the Python that runs confine.py. The worker finds the Python of the scripts itself. */
function choosePythonOfConfinement({ PYTHON }: Record<string, string>): string {
  return PYTHON ?? 'python3';
}
