import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServiceApp, serviceApps } from '@muster/contracts';
import { type Answer, findFreePort, findProcesses, type HttpClient, killAll, waitFor } from '@muster/testing';
import { type DevProxy, startDevProxy } from '../../../../tools/dev-proxy/src/dev-proxy';
import { type FaultFixture, openFaultFixture } from '../fault-fixture';
import { root, ServiceProcess } from '../service-process';
import { LockingPortal } from './locking-portal';

const startedApps = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering'] as const satisfies ServiceApp[];
export const victims = [...startedApps, 'Postgres', 'Redis', 'worker', 'machine'] as const;
/** `worker` is the worker of the run that is signed in. `machine` is that worker and the script's process. */
export type Victim = (typeof victims)[number];

interface Machine {
  agentId: string;
  env: NodeJS.ProcessEnv;
  worker?: ChildProcess;
}

/** The apps as processes behind one address, with their own Postgres and Redis, a portal, and one-file workers. */
export class AccountStage {
  private readonly services = new Map<ServiceApp, ServiceProcess>();
  private readonly ports = new Map<ServiceApp, number>();
  private readonly folder = mkdtempSync(join(tmpdir(), 'muster-accounts-'));
  readonly machines: Machine[] = [];
  fixture!: FaultFixture;
  portal!: LockingPortal;
  admin!: HttpClient;
  private proxy!: DevProxy;
  private env!: NodeJS.ProcessEnv;

  static async open({ machines, labels }: { machines: number; labels: string[] }): Promise<AccountStage> {
    const stage = new AccountStage();
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), join(stage.folder, 'muster-worker.js')]);
    [stage.fixture, stage.portal] = await Promise.all([openFaultFixture(), LockingPortal.start()]);
    for (const app of serviceApps) stage.ports.set(app, await findFreePort());
    const apps = Object.fromEntries([...stage.ports].map(([app, port]) => [app, `http://127.0.0.1:${port}`]));
    stage.proxy = await startDevProxy({ port: await findFreePort(), apps: apps as Record<ServiceApp, string> });
    stage.env = {
      ...stage.fixture.env,
      ...{ PUBLIC_APP_URL: stage.proxy.url, OUTBOUND_ALLOW: '127.0.0.0/8', LOG_LEVEL: 'warn' },
      ...{ HEARTBEAT_SECONDS: '2', AGENT_OFFLINE_AFTER_MS: '60000', DISPATCH_SWEEP_MS: '500', COMMAND_SWEEP_MS: '500' },
      ...{ RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000' },
    };
    await Promise.all(startedApps.map((app) => stage.startApp(app)));
    stage.admin = await stage.fixture.signIn(stage.proxy.url);
    for (let number = 1; number <= machines; number += 1) await stage.addMachine(`Machine ${number}`, labels);
    return stage;
  }

  /** Kills the victim and starts it again. `jobId` is the run that is signed in. */
  async killAndRestart(victim: Victim, jobId: string): Promise<void> {
    switch (victim) {
      case 'Postgres':
      case 'Redis': {
        const server = this.fixture.stack[victim === 'Postgres' ? 'postgres' : 'redis']!;
        process.kill(server.pid, 'SIGKILL');
        await server.stop();
        return server.restart();
      }
      case 'worker':
      case 'machine': {
        const { agentId } = await this.read(`/api/jobs/${jobId}`);
        const machine = this.machines.find((each) => each.agentId === agentId)!;
        await killProcess(machine.worker!);
        if (victim === 'machine') killAll(findProcesses(`MUSTER_JOB_ID=${jobId}`));
        return this.startWorker(machine);
      }
      default:
        await this.services.get(victim)!.end('SIGKILL');
        return this.startApp(victim);
    }
  }

  /** Reads a resource. Repeats the request while an app or a server is away. */
  read(path: string): Promise<any> {
    return waitFor(
      path,
      async () => {
        const answer = await this.admin.get(path).catch(() => null);
        return answer?.status === 200 && answer.body;
      },
      60_000,
    );
  }

  /** Repeats the request with one idempotency key until it gets a final response. */
  request(method: string, path: string, body: unknown): Promise<Answer> {
    const client = this.admin.with({ 'idempotency-key': randomUUID() });
    return waitFor(
      `${method} ${path}`,
      async () => {
        const answer = await client.send(method, path, body).catch(() => null);
        // The status 409 means that the first request with this idempotency key is still in progress.
        return answer && answer.status < 500 && answer.status !== 409 && answer;
      },
      60_000,
    );
  }

  /** Output of the apps that run now. */
  get output(): string {
    return [...this.services].map(([app, { output }]) => `${app}\n${output}`).join('\n');
  }

  async close(): Promise<void> {
    for (const { worker } of this.machines) if (worker) await killProcess(worker);
    killAll(findProcesses(this.folder));
    await this.proxy.close();
    for (const service of this.services.values()) await service.end('SIGKILL');
    await this.portal.close();
    await this.fixture.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  private async startApp(app: ServiceApp): Promise<void> {
    this.services.set(app, await ServiceProcess.start(app, { ...this.env, PORT: String(this.ports.get(app)) }));
  }

  private async addMachine(name: string, labels: string[]): Promise<void> {
    const { body } = await this.admin.post('/api/agents', { name, provider: 'external', labels });
    const agentId = body.agent.id as string;
    const folder = join(this.folder, agentId);
    mkdirSync(folder);
    const machine: Machine = {
      agentId,
      env: {
        ...{ PATH: process.env['PATH'], HOME: folder, SERVICE_BASE_URL: this.proxy.url },
        ...{ SERVICE_API_KEY: body.workerKey, AGENT_ID: agentId, MUSTER_WORKER_DIR: folder },
      },
    };
    this.machines.push(machine);
    this.startWorker(machine);
    await waitFor(
      `${name} to be online`,
      async () => (await this.admin.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  }

  private startWorker(machine: Machine): void {
    const program = join(this.folder, 'muster-worker.js');
    machine.worker = spawn(process.execPath, [program], { env: machine.env, stdio: 'ignore' });
  }
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
