import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { isUuid } from '@muster/platform';
import { MachineError } from '../machine';
import type { AgentFolder, Begun, Wanted } from './agent-folder';
import { FolderLock } from './folder-lock';
import { type Confinement, type ConfinementInput, findConfinement } from './confinement';
import type { LocalMachines, LocalSupervisor } from './local-machines';
import { endTree, findByEnvironment, identify, isAlive } from './processes';
import { spawnWorker } from './spawn-worker';

/** What the supervision has to know of agents, and tell of them. */
export interface LocalAgents {
  /** The key that the agent's worker reports with; null where there is none for it. */
  keyOf(agentId: string): Promise<string | null>;
  /** The status of each of these agents that there is. */
  statusesOf(agentIds: string[]): Promise<Map<string, string>>;
  /** Its worker died again and again, and is not started any more. */
  gaveUp(agentId: string, reason: string): Promise<void>;
}

export interface SupervisionOptions {
  /** A service without local agents looks after no folders. */
  enabled?: boolean;
  machines: LocalMachines;
  program: string;
  serviceUrl: string;
  /** Of our own environment, what a worker and its scripts may have. */
  baseEnv: Record<string, string>;
  /** What no worker may read, beside our own folders: files with secrets. */
  secretPaths?: string[];
  /** What every worker may read beside the system's own, and what it must: the files of a practice, Pillow. */
  lent?: string[];
  needed?: string[];
  /** How workers are confined; absent: as well as can be. */
  confinement?: Confinement;
  graceMs?: number;
  roundMs?: number;
  leaseMs?: number;
  restartDelayMs?: number;
  /** A worker that lived this long was healthy. */
  healthyAfterMs?: number;
}

const deathsUntilGivenUp = 5;
const maxRestartDelayMs = 30_000;

interface Trouble {
  deaths: number;
  notBefore: number;
}

/**
 * Keeps the workers of local agents as their folders want them. Workers are processes of their own: they outlive a
 * service that was killed, and are found again by the next one. A service that ends in order takes them along, and
 * leaves what they should be as it is.
 */
export class WorkerSupervision implements LocalSupervisor {
  private readonly logger = new Logger('local agents');
  private readonly options: Required<Omit<SupervisionOptions, 'confinement'>>;
  private confinement?: Promise<Confinement>;
  private readonly lock: FolderLock;
  private readonly queues = new Map<string, Promise<unknown>>();
  private readonly troubles = new Map<string, Trouble>();
  /** Agents whose worker we have seen alive or begun; what is dead at first sight died while nobody looked. */
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
      lent: [],
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

  /** Begins, and answers after the first round. */
  async begin(agents: LocalAgents): Promise<void> {
    this.agents = agents;
    if (!this.options.enabled) return;
    await this.tick();
  }

  async settle(agentId: string): Promise<boolean> {
    if (!this.lock.isHeld || this.closing.signal.aborted) return false;
    await this.inTurn(agentId, async () => {
      this.troubles.delete(agentId);
      await this.fulfil(this.folderOf(agentId));
    });
    return true;
  }

  /** Ends every worker within a few seconds; what they should be stays written. */
  async close(): Promise<void> {
    this.closing.abort();
    for (const timer of this.timers) clearTimeout(timer);
    await this.round;
    if (!this.lock.isHeld) return;
    const folders = (await this.agentIds()).map((id) => this.folderOf(id));
    await Promise.all(
      folders.map((folder) =>
        this.inTurn(folder.agentId, async () => {
          if (await folder.begun()) await this.end(folder);
        }).catch((error: Error) => this.logger.error(error.message)),
      ),
    );
    await this.lock.release();
  }

  private async tick(): Promise<void> {
    this.round = this.superviseAll().catch((error: Error) => this.logger.warn(`supervision failed: ${error.message}`));
    await this.round;
    this.after(this.options.roundMs, () => void this.tick());
  }

  private async superviseAll(): Promise<void> {
    if (this.closing.signal.aborted || !(await this.lock.tryTake())) return;
    const began = Date.now();
    const ids = await this.agentIds();
    if (ids.length === 0) return;
    await this.renewLeases(ids, began);
    // Without the database the folders alone say what is to run, and that is enough to keep it running.
    const statuses = await this.agents!.statusesOf(ids).catch(() => null);
    await Promise.all(
      ids.map((id) =>
        this.inTurn(id, async () => {
          const folder = this.folderOf(id);
          if (statuses) await this.followStatus(folder, statuses.get(id), began);
          await this.superviseOne(folder);
        }).catch((error: Error) => this.logger.warn(`agent ${id}: ${error.message}`)),
      ),
    );
  }

  /** No worker runs for an agent that is off or gone, whatever was missed on the way there. */
  private async followStatus(folder: AgentFolder, status: string | undefined, readAt: number): Promise<void> {
    const off = status === undefined || status === 'stopped' || status === 'terminated';
    if (!off) return;
    const wanted = await folder.wanted();
    // What was ordered just now may be newer than the status that we read.
    if (!wanted || wanted.at > readAt - 5000) return;
    if (status === 'terminated' && wanted.state !== 'removed') await folder.want('removed');
    else if (wanted.state === 'running') await folder.want('stopped');
  }

  private async superviseOne(folder: AgentFolder): Promise<void> {
    if (this.closing.signal.aborted) return;
    const { agentId } = folder;
    const wanted = await folder.wanted();
    if (!wanted) return;
    const begun = await folder.begun();
    if (wanted.state !== 'running') {
      if (begun || wanted.state === 'removed') await this.fulfil(folder);
      return;
    }
    if (begun && isAlive(begun)) {
      this.seen.add(agentId);
      await folder.rotateLog();
      // Should it die from here on, that is to be seen and counted, not taken for a worker that was never begun.
      if (begun.order === wanted.order) return;
    } else if (begun) {
      await this.recordDeath(folder, begun);
    }
    const trouble = this.troubles.get(agentId);
    if (trouble && trouble.deaths > deathsUntilGivenUp) return this.giveUp(folder, wanted);
    if (trouble && Date.now() < trouble.notBefore) return;
    await this.fulfil(folder).catch((error: Error) => {
      this.addTrouble(agentId, 0);
      throw error;
    });
  }

  /** Makes the machine what the folder wants. */
  private async fulfil(folder: AgentFolder): Promise<void> {
    const wanted = await folder.wanted();
    if (!wanted) return;
    if (wanted.state === 'running') {
      const living = await folder.living();
      if (living?.order === wanted.order) return;
      if (living) await this.end(folder);
      await this.startWorker(folder, wanted);
      return;
    }
    if (wanted.state === 'given up') return;
    await this.end(folder);
    if (wanted.state === 'removed') {
      await folder.remove();
      this.troubles.delete(folder.agentId);
      this.seen.delete(folder.agentId);
    }
  }

  private async startWorker(folder: AgentFolder, { order }: Wanted): Promise<void> {
    const { agentId, leaseFile } = folder;
    if (this.closing.signal.aborted) throw new MachineError('failed', 'The service is ending.');
    // One that a service began and had no time to note.
    const orphan = findByEnvironment(`MUSTER_LEASE_FILE=${leaseFile}`, folder.account());
    if (orphan) return this.recordBegun(folder, { ...orphan, order, at: Date.now() });
    const { program, serviceUrl } = this.options;
    if (!existsSync(program)) throw new MachineError('misconfigured', `There is no worker program at ${program}.`);
    const key = await this.agents!.keyOf(agentId);
    if (!key) throw new MachineError('failed', 'There is no worker key for this agent that the service can hand out.');
    const input = this.confinementInput();
    const confinement = await this.findConfinement();
    const child = await spawnWorker({ folder, confinement, input, serviceUrl, key });
    child.once('exit', () => this.after(0, () => this.look(agentId)));
    child.unref();
    await this.recordBegun(folder, { ...(identify(child.pid!) ?? gone(child.pid!)), order, at: Date.now() });
    this.logger.log(`worker of agent ${agentId} started`, { pid: child.pid });
  }

  private findConfinement(): Promise<Confinement> {
    return (this.confinement ??= findConfinement(this.confinementInput()).then((found) => {
      if (found.fault) this.logger.warn(`Workers run without confinement: ${found.fault}`);
      return found;
    }));
  }

  private confinementInput(): ConfinementInput {
    const { machines, program, baseEnv, secretPaths, lent, needed } = this.options;
    return { root: machines.root, program, baseEnv, secretPaths, lent, needed };
  }

  private async recordBegun(folder: AgentFolder, begun: Begun): Promise<void> {
    await folder.recordBegun(begun);
    this.seen.add(folder.agentId);
  }

  private async end(folder: AgentFolder): Promise<void> {
    const root = await folder.begun();
    const left = await endTree(
      { folder: folder.path, root, account: folder.account() },
      { graceMs: this.options.graceMs, hurry: this.closing.signal },
    );
    if (left > 0) throw new MachineError('failed', `${left} processes of the worker cannot be ended.`);
    await rm(join(folder.path, 'worker.json'), { force: true });
  }

  private async recordDeath(folder: AgentFolder, { at, pid }: Begun): Promise<void> {
    const { agentId } = folder;
    await rm(join(folder.path, 'worker.json'), { force: true });
    if (!this.seen.has(agentId)) return;
    const trouble = this.addTrouble(agentId, Date.now() - at);
    this.logger.warn(`worker of agent ${agentId} died`, { pid, deaths: trouble.deaths });
    const waitMs = trouble.notBefore - Date.now();
    if (trouble.deaths <= deathsUntilGivenUp) this.after(waitMs, () => this.look(agentId));
  }

  private addTrouble(agentId: string, livedMs: number): Trouble {
    const before = livedMs > this.options.healthyAfterMs ? 0 : (this.troubles.get(agentId)?.deaths ?? 0);
    const delayMs = Math.min(this.options.restartDelayMs * 2 ** before, maxRestartDelayMs);
    const trouble = { deaths: before + 1, notBefore: Date.now() + delayMs };
    this.troubles.set(agentId, trouble);
    return trouble;
  }

  private async giveUp(folder: AgentFolder, { order }: Wanted): Promise<void> {
    const { agentId } = folder;
    const words = await folder.lastWords();
    const reason = `The worker died ${deathsUntilGivenUp + 1} times and is not started again${words ? `: ${words}` : '.'}`;
    this.logger.error(`agent ${agentId}: ${reason}`);
    await this.agents!.gaveUp(agentId, reason);
    await this.end(folder);
    await folder.want('given up', { order, reason });
    this.troubles.delete(agentId);
  }

  private look(agentId: string): void {
    this.inTurn(agentId, () => this.superviseOne(this.folderOf(agentId))).catch((error: Error) =>
      this.logger.warn(`agent ${agentId}: ${error.message}`),
    );
  }

  private async renewLeases(ids: string[], now: number): Promise<void> {
    if (now - this.leasedAt < this.options.leaseMs) return;
    this.leasedAt = now;
    for (const id of ids) {
      const folder = this.folderOf(id);
      if (await folder.living()) await folder.renewLease();
    }
  }

  /** One thing at a time for each agent. */
  private inTurn<T>(agentId: string, work: () => Promise<T>): Promise<T> {
    const before = this.queues.get(agentId) ?? Promise.resolve();
    const turn = before.then(work, work);
    const settled = turn.catch(() => undefined);
    this.queues.set(agentId, settled);
    void settled.then(() => this.queues.get(agentId) === settled && this.queues.delete(agentId));
    return turn;
  }

  private after(ms: number, work: () => void): void {
    if (this.closing.signal.aborted) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      if (!this.closing.signal.aborted) work();
    }, ms);
    this.timers.add(timer);
  }

  private async agentIds(): Promise<string[]> {
    return (await readdir(this.options.machines.root).catch(() => [])).filter(isUuid);
  }

  private folderOf(agentId: string): AgentFolder {
    return this.options.machines.folderOf(agentId);
  }
}

/** It ended before we could look at it. */
function gone(pid: number) {
  return { pid, startTime: 'unknown' };
}
