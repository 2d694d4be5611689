import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { isUuid } from '@muster/platform';
import { MachineError } from '../machine';
import type { AgentFolder, WorkerRecord, Wanted } from './agent-folder';
import { FolderLock } from './folder-lock';
import { type Confinement, type ConfinementInput, findConfinement } from './confinement';
import type { LocalMachines, LocalSupervisor } from './local-machines';
import { createUnknownIdentity, endProcessTree, findProcessByEnvironment, identifyProcess, isAlive } from './processes';
import { spawnWorker } from './spawn-worker';

/** The supervision's access to the agents. */
export interface LocalAgents {
  /** Returns the key with which the agent's worker reports; null if there is none. */
  readAgentKey(agentId: string): Promise<string | null>;
  /** Returns the statuses of those agents that exist. */
  readStatuses(agentIds: string[]): Promise<Map<string, string>>;
  /** Records that the agent's worker has died too often and is not started again. */
  recordAbandonedWorker(agentId: string, reason: string): Promise<void>;
}

export interface SupervisionOptions {
  /** Whether the service allows local agents. If not, it supervises no folders. */
  enabled?: boolean;
  machines: LocalMachines;
  program: string;
  serviceUrl: string;
  /** Part of the service's environment that a worker and its scripts get. */
  baseEnv: Record<string, string>;
  /** Files with secrets, which no worker may read. The service's own folders are always hidden. */
  secretPaths?: string[];
  /**
   * Further paths that every worker may read (the organization's files), and paths that it must be able to read
   * (Pillow).
   */
  ownerReadable?: string[];
  needed?: string[];
  /** Confinement of the workers. If absent, the best one that is available. */
  confinement?: Confinement;
  graceMs?: number;
  roundMs?: number;
  leaseMs?: number;
  restartDelayMs?: number;
  /** Milliseconds after which a worker counts as healthy, so that its earlier deaths are forgotten. */
  healthyAfterMs?: number;
}

const maxRestarts = 5;
const maxRestartDelayMs = 30_000;

interface Trouble {
  deaths: number;
  notBefore: number;
}

/**
 * Keeps the workers of local agents in the desired states of their folders. Workers are separate processes that survive
 * a killed service, and the next one finds them again. A service that shuts down ends them and leaves their desired
 * states unchanged.
 */
export class WorkerSupervision implements LocalSupervisor {
  private readonly logger = new Logger('local agents');
  private readonly options: Required<Omit<SupervisionOptions, 'confinement'>>;
  private confinement?: Promise<Confinement>;
  private readonly lock: FolderLock;
  private readonly queues = new Map<string, Promise<unknown>>();
  private readonly troubles = new Map<string, Trouble>();
  /** Agents whose worker this process has seen alive or started. Only the deaths of these workers are counted. */
  private readonly seen = new Set<string>();
  private readonly closing = new AbortController();
  private readonly timers = new Set<NodeJS.Timeout>();
  private agents?: LocalAgents;
  private round?: Promise<void>;
  private leasedAt = 0;

  constructor(options: SupervisionOptions) {
    this.options = {
      enabled: true,
      graceMs: 15_000,
      roundMs: 1000,
      leaseMs: 5000,
      restartDelayMs: 500,
      healthyAfterMs: 60_000,
      secretPaths: [],
      ownerReadable: [],
      needed: [],
      ...options,
    };
    if (options.confinement) this.confinement = Promise.resolve(options.confinement);
    this.lock = new FolderLock(options.machines.root);
    options.machines.supervisor = this;
  }

  get isSupervising(): boolean {
    return this.lock.isHeld;
  }

  /** Starts the supervision. Returns after the first round. */
  async startSupervision(agents: LocalAgents): Promise<void> {
    this.agents = agents;
    if (!this.options.enabled) return;
    await this.superviseOnce();
  }

  async applyDesiredStateNow(agentId: string): Promise<boolean> {
    if (!this.lock.isHeld || this.closing.signal.aborted) return false;
    await this.runInTurn(agentId, async () => {
      this.troubles.delete(agentId);
      await this.applyDesiredState(this.openFolder(agentId));
    });
    return true;
  }

  /** Ends every worker within a few seconds. Their desired states stay unchanged. */
  async endAllWorkers(): Promise<void> {
    this.closing.abort();
    for (const timer of this.timers) clearTimeout(timer);
    await this.round;
    if (!this.lock.isHeld) return;
    const folders = (await this.listAgentIds()).map((id) => this.openFolder(id));
    await Promise.all(
      folders.map((folder) =>
        this.runInTurn(folder.agentId, async () => {
          if (await folder.readWorkerRecord()) await this.endWorker(folder);
        }).catch((error: Error) =>
          this.logger.error(`could not end the worker of agent ${folder.agentId}: ${error.message}`),
        ),
      ),
    );
    await this.lock.release();
  }

  private async superviseOnce(): Promise<void> {
    this.round = this.superviseAll().catch((error: Error) =>
      this.logger.warn(`the supervision of local workers failed: ${error.message}`),
    );
    await this.round;
    this.runAfterDelay(this.options.roundMs, () => void this.superviseOnce());
  }

  private async superviseAll(): Promise<void> {
    if (this.closing.signal.aborted || !(await this.lock.tryAcquire())) return;
    const startedAt = Date.now();
    const ids = await this.listAgentIds();
    if (ids.length === 0) return;
    await this.renewLeases(ids, startedAt);
    // Without the database, the desired states in the folders are enough to keep the workers running.
    const statuses = await this.agents!.readStatuses(ids).catch(() => null);
    await Promise.all(
      ids.map((id) =>
        this.runInTurn(id, async () => {
          const folder = this.openFolder(id);
          if (statuses) await this.applyAgentStatus(folder, statuses.get(id), startedAt);
          await this.superviseAgent(folder);
        }).catch((error: Error) => this.logger.warn(`the supervision of agent ${id} failed: ${error.message}`)),
      ),
    );
  }

  /** Stops the worker of an agent that is stopped, terminated or deleted, even if the order to do so was lost. */
  private async applyAgentStatus(folder: AgentFolder, status: string | undefined, readAt: number): Promise<void> {
    const off = status === undefined || status === 'stopped' || status === 'terminated';
    if (!off) return;
    const wanted = await folder.readDesiredState();
    // A folder with a recent order is skipped, because the order may be newer than the status that was read.
    if (!wanted || wanted.at > readAt - 5000) return;
    if (status === 'terminated' && wanted.state !== 'removed') await folder.writeDesiredState('removed');
    else if (wanted.state === 'running') await folder.writeDesiredState('stopped');
  }

  private async superviseAgent(folder: AgentFolder): Promise<void> {
    if (this.closing.signal.aborted) return;
    const { agentId } = folder;
    const wanted = await folder.readDesiredState();
    if (!wanted) return;
    const record = await folder.readWorkerRecord();
    if (wanted.state !== 'running') {
      if (record || wanted.state === 'removed') await this.applyDesiredState(folder);
      return;
    }
    if (record && isAlive(record)) {
      this.seen.add(agentId);
      await folder.rotateLog();
      // If the worker dies after this check, `applyDesiredState` would start a new one without counting the death.
      if (record.order === wanted.order) return;
    } else if (record) {
      await this.recordWorkerDeath(folder, record);
    }
    const trouble = this.troubles.get(agentId);
    if (trouble && trouble.deaths > maxRestarts) return this.giveUpStart(folder, wanted);
    if (trouble && Date.now() < trouble.notBefore) return;
    await this.applyDesiredState(folder).catch((error: Error) => {
      this.recordEarlyDeath(agentId, 0);
      throw error;
    });
  }

  /** Brings the machine into the folder's desired state. */
  private async applyDesiredState(folder: AgentFolder): Promise<void> {
    const wanted = await folder.readDesiredState();
    if (!wanted) return;
    if (wanted.state === 'running') {
      const living = await folder.readLivingWorker();
      if (living?.order === wanted.order) return;
      if (living) await this.endWorker(folder);
      await this.startWorker(folder, wanted);
      return;
    }
    if (wanted.state === 'given up') return;
    await this.endWorker(folder);
    if (wanted.state === 'removed') {
      await folder.removeFolder();
      this.troubles.delete(folder.agentId);
      this.seen.delete(folder.agentId);
    }
  }

  private async startWorker(folder: AgentFolder, { order }: Wanted): Promise<void> {
    const { agentId, leaseFile } = folder;
    if (this.closing.signal.aborted)
      throw new MachineError('failed', 'The service is shutting down. Try again when it has restarted.');
    // A service may have been killed after it started a worker and before it recorded the worker.
    const orphan = findProcessByEnvironment(`MUSTER_LEASE_FILE=${leaseFile}`, folder.readAccount());
    if (orphan) return this.recordWorker(folder, { ...orphan, order, at: Date.now() });
    const { program, serviceUrl } = this.options;
    if (!existsSync(program))
      throw new MachineError(
        'misconfigured',
        `There is no worker program at ${program}. Set LOCAL_WORKER_PROGRAM to its path.`,
      );
    const key = await this.agents!.readAgentKey(agentId);
    if (!key) throw new MachineError('failed', 'The service has no worker key for this agent.');
    const input = this.buildConfinementInput();
    const confinement = await this.findConfinement();
    const child = await spawnWorker({ folder, confinement, input, serviceUrl, key });
    child.once('exit', () => this.runAfterDelay(0, () => this.superviseSoon(agentId)));
    child.unref();
    await this.recordWorker(folder, {
      ...(identifyProcess(child.pid!) ?? createUnknownIdentity(child.pid!)),
      order,
      at: Date.now(),
    });
    this.logger.log(`worker of agent ${agentId} started`, { pid: child.pid });
  }

  private findConfinement(): Promise<Confinement> {
    return (this.confinement ??= findConfinement(this.buildConfinementInput()).then((found) => {
      if (found.fault)
        this.logger.warn(
          `Isolation is not available (${found.fault}), so the workers of local agents can access everything that the ` +
            'user of this process can.',
        );
      return found;
    }));
  }

  private buildConfinementInput(): ConfinementInput {
    const { machines, program, baseEnv, secretPaths, ownerReadable, needed } = this.options;
    return { root: machines.root, program, baseEnv, secretPaths, ownerReadable, needed };
  }

  private async recordWorker(folder: AgentFolder, record: WorkerRecord): Promise<void> {
    await folder.recordWorker(record);
    this.seen.add(folder.agentId);
  }

  private async endWorker(folder: AgentFolder): Promise<void> {
    const root = await folder.readWorkerRecord();
    const left = await endProcessTree(
      { folder: folder.path, root, account: folder.readAccount() },
      { graceMs: this.options.graceMs, skipGrace: this.closing.signal },
    );
    if (left > 0) throw new MachineError('failed', `${left} processes of the worker cannot be ended.`);
    await rm(join(folder.path, 'worker.json'), { force: true });
  }

  private async recordWorkerDeath(folder: AgentFolder, { at, pid }: WorkerRecord): Promise<void> {
    const { agentId } = folder;
    await rm(join(folder.path, 'worker.json'), { force: true });
    if (!this.seen.has(agentId)) return;
    const trouble = this.recordEarlyDeath(agentId, Date.now() - at);
    this.logger.warn(`worker of agent ${agentId} died`, { pid, deaths: trouble.deaths });
    const waitMs = trouble.notBefore - Date.now();
    if (trouble.deaths <= maxRestarts) this.runAfterDelay(waitMs, () => this.superviseSoon(agentId));
  }

  private recordEarlyDeath(agentId: string, livedMs: number): Trouble {
    const before = livedMs > this.options.healthyAfterMs ? 0 : (this.troubles.get(agentId)?.deaths ?? 0);
    const delayMs = Math.min(this.options.restartDelayMs * 2 ** before, maxRestartDelayMs);
    const trouble = { deaths: before + 1, notBefore: Date.now() + delayMs };
    this.troubles.set(agentId, trouble);
    return trouble;
  }

  private async giveUpStart(folder: AgentFolder, { order }: Wanted): Promise<void> {
    const { agentId } = folder;
    const logTail = await folder.readLogTail();
    const reason = `The worker died ${maxRestarts + 1} times and is not started again${logTail ? `: ${logTail}` : '.'}`;
    this.logger.error(`agent ${agentId}: ${reason}`);
    await this.agents!.recordAbandonedWorker(agentId, reason);
    await this.endWorker(folder);
    await folder.writeDesiredState('given up', { order, reason });
    this.troubles.delete(agentId);
  }

  private superviseSoon(agentId: string): void {
    this.runInTurn(agentId, () => this.superviseAgent(this.openFolder(agentId))).catch((error: Error) =>
      this.logger.warn(`the supervision of agent ${agentId} failed: ${error.message}`),
    );
  }

  private async renewLeases(ids: string[], now: number): Promise<void> {
    if (now - this.leasedAt < this.options.leaseMs) return;
    this.leasedAt = now;
    for (const id of ids) {
      const folder = this.openFolder(id);
      if (await folder.readLivingWorker()) await folder.renewLease();
    }
  }

  /** Runs tasks of the same agent one after the other; those of different agents run at the same time. */
  private runInTurn<T>(agentId: string, work: () => Promise<T>): Promise<T> {
    const before = this.queues.get(agentId) ?? Promise.resolve();
    const turn = before.then(work, work);
    const finished = turn.catch(() => undefined);
    this.queues.set(agentId, finished);
    void finished.then(() => this.queues.get(agentId) === finished && this.queues.delete(agentId));
    return turn;
  }

  private runAfterDelay(ms: number, work: () => void): void {
    if (this.closing.signal.aborted) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      if (!this.closing.signal.aborted) work();
    }, ms);
    this.timers.add(timer);
  }

  private async listAgentIds(): Promise<string[]> {
    return (await readdir(this.options.machines.root).catch(() => [])).filter(isUuid);
  }

  private openFolder(agentId: string): AgentFolder {
    return this.options.machines.openFolder(agentId);
  }
}
