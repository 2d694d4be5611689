import { existsSync } from 'node:fs';
import { copyFile, lchown, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@muster/platform';
import { assignAccount, readAccount } from './agent-account';
import { type Confinement, allowPassingThroughFolders } from './confinement';
import { isAlive, type ProcessIdentity } from './processes';

/** Desired state of the machine. Any process may write it; the supervising process applies it. */
export interface Wanted {
  state: 'running' | 'stopped' | 'removed' | 'given up';
  /** Id of the last start or reboot. A worker that was started by another order is replaced. */
  order: string;
  at: number;
  reason?: string;
}

/** The worker process that was started last. */
export interface WorkerRecord extends ProcessIdentity {
  order: string;
  at: number;
}

const logLimitBytes = 10 * 1024 * 1024;

/**
 * The folder of one local agent: its desired state, its current worker and its log. The subfolder `machine` belongs to
 * the worker and its scripts. They write only there, and this process neither reads nor writes files in it.
 */
export class AgentFolder {
  readonly path: string;
  readonly machine: string;
  readonly home: string;
  readonly logFile: string;
  readonly leaseFile: string;

  constructor(
    private readonly root: string,
    readonly agentId: string,
  ) {
    this.path = join(root, agentId);
    this.machine = join(this.path, 'machine');
    this.home = join(this.machine, 'home');
    this.logFile = join(this.path, 'worker.log');
    this.leaseFile = join(this.path, 'lease');
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  readDesiredState(): Promise<Wanted | null> {
    return readJsonFile<Wanted>(join(this.path, 'wanted.json'));
  }

  async writeDesiredState(
    state: Wanted['state'],
    { order = newId(), reason }: { order?: string; reason?: string } = {},
  ) {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const wanted: Wanted = { state, order, at: Date.now(), ...(reason ? { reason } : {}) };
    await writeJsonFile(join(this.path, 'wanted.json'), wanted);
    return wanted;
  }

  /** Returns the id of the agent's user; null if it has none. */
  readAccount(): number | null {
    return readAccount(this.root, this.agentId);
  }

  /** Creates the machine's folder and transfers it to the account that it runs as. Returns the account, if any. */
  async prepareMachine(confinement: Confinement): Promise<number | null> {
    if (!existsSync(this.machine)) await this.makeMachine();
    if (!confinement.account) return null;
    const account = await assignAccount(this.root, this.agentId);
    await allowPassingThroughFolders(this.root, this.path);
    if ((await stat(this.machine)).uid !== account) await changeOwnerOfAll(account, this.machine);
    return account;
  }

  /** Creates the machine's folder, and moves files into it that workers of earlier versions wrote one level above. */
  private async makeMachine(): Promise<void> {
    const draft = join(this.path, 'machine.new');
    await mkdir(draft, { recursive: true, mode: 0o700 });
    const ownFiles = /^(machine\.new|account|lease|wanted\.json.*|worker\.(json|log).*)$/;
    const names = (await readdir(this.path)).filter((name) => !ownFiles.test(name));
    for (const name of names) await rename(join(this.path, name), join(draft, name));
    await rename(draft, this.machine);
  }

  readWorkerRecord(): Promise<WorkerRecord | null> {
    return readJsonFile<WorkerRecord>(join(this.path, 'worker.json'));
  }

  /** Returns the worker if it is alive. */
  async readLivingWorker(): Promise<WorkerRecord | null> {
    const record = await this.readWorkerRecord();
    return record && isAlive(record) ? record : null;
  }

  async recordWorker(record: WorkerRecord): Promise<void> {
    await writeJsonFile(join(this.path, 'worker.json'), record);
  }

  /** Renews the worker's lease. A worker ends itself when its lease is no longer renewed. */
  async renewLease(): Promise<void> {
    await writeFile(this.leaseFile, `${new Date().toISOString()}\n`, { mode: 0o600 });
  }

  /** Truncates the log in place, because the worker keeps writing to the file that it opened. */
  async rotateLog(): Promise<void> {
    const size = await stat(this.logFile).then(
      (found) => found.size,
      () => 0,
    );
    if (size < logLimitBytes) return;
    await copyFile(this.logFile, `${this.logFile}.1`);
    await truncate(this.logFile);
  }

  async readLogTail(): Promise<string> {
    const text = await readFile(this.logFile, 'utf8').catch(() => '');
    return text.slice(-2000).trim().split('\n').slice(-3).join(' | ').slice(-500);
  }

  async removeFolder(): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function readJsonFile<T>(file: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T;
  } catch (error) {
    // A file that is missing, or incomplete because the disk was full, counts as absent.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function writeJsonFile(file: string, value: object): Promise<void> {
  const draft = `${file}.${newId()}`;
  await writeFile(draft, JSON.stringify(value), { mode: 0o600 });
  await rename(draft, file);
}

async function changeOwnerOfAll(account: number, folder: string): Promise<void> {
  await lchown(folder, account, account);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of entries) await lchown(join(parentPath, name), account, account);
}
