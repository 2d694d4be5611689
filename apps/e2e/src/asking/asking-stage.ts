import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServiceApp, serviceApps } from '@muster/contracts';
import {
  findFreePort,
  findProcesses,
  HttpClient,
  killAll,
  FakeModel,
  Mailbox,
  testPassword,
  TraceCollector,
  waitFor,
} from '@muster/testing';
import type { Browser } from 'playwright-core';
import { type DevProxy, startDevProxy } from '../../../../tools/dev-proxy/src/dev-proxy';
import { findChromiumPath, launchBrowser } from '../console/console-browser';
import { type FaultFixture, openFaultFixture } from '../fault-fixture';
import { root, ServiceProcess } from '../service-process';
import { CodePortal } from './code-portal';
import { RedisRecorder } from './read-redis';

export const email = 'super@example.com';
export const victims = [...serviceApps, 'worker', 'Postgres'] as const;
export type Victim = (typeof victims)[number];

/**
 * The six apps as processes behind one address, with their own Postgres, the one-file worker, a portal, a mail server,
 * a receiver of webhooks and a collector of traces.
 */
export class AskingStage {
  private readonly services = new Map<ServiceApp, ServiceProcess>();
  private readonly ports = new Map<ServiceApp, number>();
  private readonly folder = mkdtempSync(join(tmpdir(), 'muster-asking-'));
  /** Output of the processes that have ended. */
  private readonly outputs: string[] = [];
  /** Bodies of all webhook deliveries. */
  readonly delivered: string[] = [];
  private worker!: ChildProcess;
  private workerEnv!: NodeJS.ProcessEnv;
  private receiver!: Server;
  fixture!: FaultFixture;
  portal!: CodePortal;
  mailbox!: Mailbox;
  collector!: TraceCollector;
  model!: FakeModel;
  redis!: RedisRecorder;
  browser!: Browser;
  proxy!: DevProxy;
  admin!: HttpClient;
  agentId!: string;
  private env!: NodeJS.ProcessEnv;

  static async open(): Promise<AskingStage> {
    const stage = new AskingStage();
    execFileSync(process.execPath, [join(root, 'tools/build/console.mjs')], { stdio: 'ignore' });
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), join(stage.folder, 'muster-worker.js')]);
    [stage.fixture, stage.portal, stage.mailbox, stage.collector, stage.model, stage.browser] = await Promise.all([
      openFaultFixture(),
      CodePortal.start(),
      Mailbox.start(),
      TraceCollector.start(),
      FakeModel.start(),
      launchBrowser(findChromiumPath()!),
    ]);
    stage.redis = await RedisRecorder.start(stage.fixture.stack.redisUrl);
    const port = await findFreePort();
    stage.env = {
      ...stage.fixture.env,
      ...{ PUBLIC_APP_URL: `http://localhost:${port}`, OUTBOUND_ALLOW: '127.0.0.0/8', LOG_LEVEL: 'debug' },
      ...{ COMMAND_SWEEP_MS: '200', RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000' },
      ...{ SMTP_URL: stage.mailbox.url, SMTP_FROM: 'Muster <muster@practice.example>' },
      ...stage.model.environment,
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: stage.collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
    };
    for (const app of serviceApps) stage.ports.set(app, await findFreePort());
    const apps = Object.fromEntries([...stage.ports].map(([app, own]) => [app, `http://127.0.0.1:${own}`]));
    stage.proxy = await startDevProxy({ port, apps: apps as Record<ServiceApp, string> });
    for (const app of serviceApps) await stage.startApp(app);
    stage.admin = await new HttpClient(stage.proxy.url).signIn(email, testPassword);
    await stage.connectWorker();
    await stage.connectReceiver();
    return stage;
  }

  async close(): Promise<void> {
    this.worker.kill('SIGKILL');
    killAll(findProcesses(this.folder));
    await this.browser.close();
    for (const service of this.services.values()) await service.end('SIGKILL');
    this.receiver.closeAllConnections();
    this.receiver.close();
    this.redis.stop();
    const servers = [this.proxy.close(), this.portal.close(), this.mailbox.stop(), this.collector.stop()];
    await Promise.all([...servers, this.model.close()]);
    await this.fixture.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Ends the victim with SIGKILL. */
  async kill(victim: Victim): Promise<void> {
    if (victim === 'Postgres') return void process.kill(this.fixture.stack.postgres!.pid, 'SIGKILL');
    if (victim !== 'worker') {
      const service = this.services.get(victim)!;
      await service.end('SIGKILL');
      this.outputs.push(service.output);
      return;
    }
    const gone = once(this.worker, 'exit');
    this.worker.kill('SIGKILL');
    await gone;
  }

  async restart(victim: Victim): Promise<void> {
    if (victim === 'Postgres') await this.fixture.stack.postgres!.restart();
    else if (victim === 'worker') this.startWorker();
    else await this.startApp(victim);
  }

  /** Output of all processes so far, also of those that were killed. */
  readOutputs(): string {
    return [...this.outputs, ...[...this.services.values()].map(({ output }) => output)].join('');
  }

  /** Content of the files in the worker's folder, without the profiles of browsers. */
  readWorkerFiles(): string {
    return (
      readdirSync(this.folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== 'muster-worker.js')
        .map((entry) => join(entry.parentPath, entry.name))
        // The worker removes files of its folder while they are read.
        .filter((path) => !/\/profile[^/]*\//.test(path) && existsSync(path))
        .map((path) => readFileSync(path, 'latin1'))
        .join('\n')
    );
  }

  /** Reads a resource. Repeats the request while an app or Postgres is away. */
  readResource(path: string): Promise<any> {
    return waitFor(
      path,
      async () => {
        const answer = await this.admin.get(path).catch(() => null);
        return answer?.status === 200 && answer.body;
      },
      60_000,
    );
  }

  /** Reads all pages of a list. Returns the bodies as text. */
  async readPages(path: string): Promise<string> {
    const pages: string[] = [];
    for (let cursor: string | null | undefined = ''; cursor !== null && cursor !== undefined;) {
      const body = await this.readResource(
        `${path}${path.includes('?') ? '&' : '?'}limit=200${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(JSON.stringify(body));
      cursor = body.nextCursor;
    }
    return pages.join('\n');
  }

  private async startApp(app: ServiceApp): Promise<void> {
    this.services.set(app, await ServiceProcess.start(app, { ...this.env, PORT: String(this.ports.get(app)) }));
  }

  private startWorker(): void {
    const program = join(this.folder, 'muster-worker.js');
    this.worker = spawn(process.execPath, [program], { env: this.workerEnv, stdio: 'ignore' });
  }

  private async connectWorker(): Promise<void> {
    const { body } = await this.admin.post('/api/agents', { name: 'Front desk', provider: 'external' });
    this.agentId = body.agent.id;
    this.workerEnv = {
      ...{ PATH: process.env['PATH'], HOME: this.folder, SERVICE_BASE_URL: this.proxy.url },
      ...{ SERVICE_API_KEY: body.workerKey, AGENT_ID: this.agentId, MUSTER_WORKER_DIR: join(this.folder, 'worker') },
    };
    this.startWorker();
    await waitFor(
      'the worker to be online',
      async () => (await this.admin.get(`/api/agents/${this.agentId}`)).body.status === 'online',
      60_000,
    );
  }

  private async connectReceiver(): Promise<void> {
    this.receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        this.delivered.push(body);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => this.receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.receiver.address() as AddressInfo).port}/`;
    const { status } = await this.admin.post('/api/webhook-endpoints', { url, events: ['*'] });
    if (status !== 201) throw new Error(`creating the webhook endpoint answered ${status}`);
  }
}
