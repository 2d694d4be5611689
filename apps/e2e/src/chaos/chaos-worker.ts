import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '@muster/testing';
import type { ChaosNetwork } from './chaos-network';
import { root } from '../service-process';

export interface AgentKey {
  agentId: string;
  key: string;
}

/** The worker program as a separate process that can be killed and started again on the same folder. */
export class ChaosWorker {
  private child: ChildProcess | null = null;
  private collectedOutput = '';

  private constructor(
    readonly agent: AgentKey,
    readonly folder: string,
    private readonly env: NodeJS.ProcessEnv,
    /** Folder of the release whose worker is started. */
    public release: string,
  ) {}

  /** If `pushed`, the worker has a tunnel; otherwise it polls for commands. */
  static async start(
    network: ChaosNetwork,
    agent: AgentKey,
    parent: string,
    pushed: boolean,
    release = root,
  ): Promise<ChaosWorker> {
    const folder = join(parent, agent.agentId);
    mkdirSync(folder, { recursive: true });
    const port = await findFreePort();
    const env = {
      PATH: process.env['PATH'],
      SERVICE_BASE_URL: network.url,
      SERVICE_API_KEY: agent.key,
      AGENT_ID: agent.agentId,
      MUSTER_WORKER_DIR: folder,
      MUSTER_WORKER_LISTEN: pushed ? `127.0.0.1:${port}` : 'off',
      MUSTER_TUNNEL_HOSTNAME: pushed ? network.createTunnelUrl(port) : 'off',
    };
    const worker = new ChaosWorker(agent, folder, env, release);
    worker.spawn();
    return worker;
  }

  get output(): string {
    return this.collectedOutput;
  }

  get alive(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  spawn(): void {
    this.child = spawn(process.execPath, [join(this.release, 'dist/apps/worker/src/main.js')], {
      env: this.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr!.on('data', (piece: Buffer) => (this.collectedOutput += piece.toString()));
  }

  /** Sends the signal immediately and waits until the process has exited. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.child || !this.alive) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }
}
