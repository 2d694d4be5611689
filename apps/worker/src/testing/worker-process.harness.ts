import { killAll, findProcesses } from '@muster/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { agentId, organizationId, type FakeService, type Json } from './fake-service.harness';

const program = resolve(__dirname, '../../../../dist/apps/worker/src/main.js');

/** A worker's folder, and real worker processes that use it. */
export class WorkerHarness {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-worker-'));
  child: ChildProcess | null = null;
  stderr = '';

  constructor(
    private readonly service: FakeService,
    private readonly env: Record<string, string> = {},
    private readonly file = program,
  ) {}

  /** Starts a worker and waits for its handshake. */
  async start(env: Record<string, string> = {}): Promise<void> {
    const handshakes = this.service.listAccepted('/api/agents/handshake').length;
    this.spawn(env);
    await this.service.waitUntil('a handshake', () => this.service.waitForHandshake(handshakes + 1));
  }

  spawn(env: Record<string, string> = {}): ChildProcess {
    this.child = spawn(process.execPath, [this.file], {
      env: {
        PATH: process.env.PATH!,
        SERVICE_BASE_URL: this.service.url,
        SERVICE_API_KEY: this.service.apiKeys[0]!,
        AGENT_ID: agentId,
        MUSTER_WORKER_DIR: this.folder,
        ...this.env,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr!.on('data', (piece: Buffer) => (this.stderr += piece.toString()));
    return this.child;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    return (await exited)[0] as number | null;
  }

  async remove(): Promise<void> {
    await this.kill();
    killAll(findProcesses(this.folder));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Returns the content of all files in the worker's folder. */
  readAllOutput(): string {
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const readOutput = (path: string): string => {
      try {
        return readFileSync(path, 'latin1');
      } catch {
        // The file was delivered and removed after the folder was listed.
        return '';
      }
    };
    return files.map((file) => readOutput(join(file.parentPath, file.name))).join('\n');
  }
}

export function buildCommand(kind: string, payload: object, more: object = {}): Json {
  const deadline = new Date(Date.now() + 60_000).toISOString();
  return { commandId: randomUUID(), kind, agentId, organizationId, deadline, env: {}, payload, ...more };
}

export function buildRunCommand(script: string, payload: object = {}, env: Record<string, string> = {}): Json {
  const defaults = { script, variables: {}, workflowId: randomUUID(), workflowRevision: 1, maxRuntimeMs: 600_000 };
  return buildCommand('run', { ...defaults, ...payload }, { jobId: randomUUID(), env });
}
