import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
} from '../machine';
import { isUuid } from '@muster/platform';
import { AgentFolder } from './agent-folder';
import { isAlive } from './processes';

export interface LocalSupervisor {
  /** Applies the desired state at once. Returns false if another process supervises the folder and will apply it. */
  applyDesiredStateNow(agentId: string): Promise<boolean>;
}

/**
 * Machines that are worker processes on this computer. An order is written into the agent's folder. The process that
 * supervises the folders executes it, and the caller waits until it is done.
 */
export class LocalMachines implements MachineProvider {
  supervisor?: LocalSupervisor;
  private readonly starts = new Map<string, Promise<void>>();

  constructor(
    readonly root: string,
    private readonly patienceMs = 25_000,
  ) {}

  /** Returns the state without an address, because only the worker reports how others can reach this computer. */
  async describe({ agentId }: Machine): Promise<MachineDescription> {
    const folder = this.openFolder(agentId);
    if (!existsSync(this.root)) return { state: 'unknown', ip: null };
    const wanted = await folder.readDesiredState();
    if (!wanted) return { state: 'gone', ip: null };
    const living = await folder.readLivingWorker();
    if (living && wanted.state === 'running' && living.order === wanted.order) return { state: 'running', ip: null };
    if (living) return { state: 'stopping', ip: null };
    return { state: wanted.state === 'running' ? 'starting' : 'stopped', ip: null };
  }

  async start({ agentId }: Machine): Promise<void> {
    const folder = this.openFolder(agentId);
    await this.requestStartOnce(folder);
    await this.applyAndWait(agentId, 'start', () => this.isRunning(folder));
  }

  async stop({ agentId }: Machine): Promise<void> {
    const folder = this.openFolder(agentId);
    if (!folder.exists()) return;
    await folder.writeDesiredState('stopped');
    await this.applyAndWait(agentId, 'stop', () => this.isStopped(folder));
  }

  async reboot({ agentId }: Machine): Promise<void> {
    const folder = this.openFolder(agentId);
    await folder.writeDesiredState('running');
    await this.applyAndWait(agentId, 'reboot', () => this.isRunning(folder));
  }

  async terminate({ agentId }: Machine): Promise<void> {
    const folder = this.openFolder(agentId);
    if (!folder.exists()) return;
    await folder.writeDesiredState('removed');
    await this.applyAndWait(agentId, 'terminate', () => Promise.resolve(!folder.exists()));
  }

  /** Returns the name of this computer and the folder, because each computer has its own folders. */
  getLocation(): string {
    return `${hostname()}:${this.root}`;
  }

  async list(machine: Machine): Promise<ListedMachine[]> {
    const agentIds = (await readdir(this.root).catch(() => [])).filter(isUuid);
    return Promise.all(
      agentIds.map(async (agentId) => {
        const { state } = await this.describe({ ...machine, agentId });
        return { ref: agentId, agentId, organizationId: null, state, expiresAt: null };
      }),
    );
  }

  openFolder(agentId: string): AgentFolder {
    return new AgentFolder(this.root, agentId);
  }

  /**
   * Requests a start of the worker. Concurrent calls share one start, because a second order would be a second boot.
   */
  private requestStartOnce(folder: AgentFolder): Promise<void> {
    const { agentId } = folder;
    const pending =
      this.starts.get(agentId) ??
      (async () => {
        if ((await folder.readDesiredState())?.state !== 'running') await folder.writeDesiredState('running');
      })().finally(() => this.starts.delete(agentId));
    this.starts.set(agentId, pending);
    return pending;
  }

  private async applyAndWait(agentId: string, order: string, done: () => Promise<boolean>): Promise<void> {
    if (await this.supervisor?.applyDesiredStateNow(agentId)) return;
    const deadline = Date.now() + this.patienceMs;
    while (!(await done())) {
      if (Date.now() > deadline) {
        throw new MachineError(
          'unreachable',
          `No process supervises ${this.root}, so the order to ${order} is still pending.`,
        );
      }
      await sleep(100);
    }
  }

  private async isRunning(folder: AgentFolder): Promise<boolean> {
    const [wanted, living] = await Promise.all([folder.readDesiredState(), folder.readLivingWorker()]);
    return living !== null && living.order === wanted?.order;
  }

  private async isStopped(folder: AgentFolder): Promise<boolean> {
    const record = await folder.readWorkerRecord();
    return record === null || !isAlive(record);
  }
}
