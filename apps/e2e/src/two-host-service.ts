import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
import { Start } from './npm-start';
import { root } from './service-process';
import { TwoHosts } from './two-hosts';

export const servicePort = 3000;

/** `npm start` on one network host and workers on another host, in a new folder. */
export class TwoHostService {
  service!: Start;
  /** Client with the organization's API key. */
  api!: HttpClient;
  /** Client that is signed in as the administrator. */
  admin!: HttpClient;
  /** Worker keys by agent id. */
  readonly workerKeys = new Map<string, string>();

  private constructor(
    readonly folder: string,
    readonly hosts: TwoHosts,
  ) {}

  static async open(): Promise<TwoHostService> {
    const fixture = new TwoHostService(await mkdtemp(join(tmpdir(), 'muster-far-')), new TwoHosts());
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), join(fixture.folder, 'muster-worker.js')]);
    await fixture.start();
    const http = new HttpClient(await fixture.hosts.exposePort(servicePort, fixture.folder));
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(fixture.service.output)!;
    fixture.admin = await http.signIn(email!, password!);
    fixture.api = http.withKey(/API key +(msk_\S+)/.exec(fixture.service.output)![1]!);
    return fixture;
  }

  async close(): Promise<void> {
    await this.service.endStart('SIGTERM');
    await this.hosts.remove();
    await rm(this.folder, { recursive: true, force: true });
  }

  async start(): Promise<void> {
    const data = join(this.folder, 'data');
    const args = ['--host', '0.0.0.0', '--port', String(servicePort), '--data-dir', data, '--no-demo'];
    this.service = new Start(args, {}, TwoHosts.buildHostPrefix(this.hosts.service));
    await this.service.waitUntilReady();
  }

  /** Creates an agent and starts its worker as the worker's README describes. Returns the agent's id. */
  async installWorker(name: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { agent, workerKey } = (await this.admin.post('/api/agents', { name, provider: 'external' })).body;
    this.workerKeys.set(agent.id, workerKey);
    const home = join(this.folder, name);
    await mkdir(home);
    const own = {
      PATH: process.env['PATH'],
      HOME: home,
      SERVICE_BASE_URL: `http://${this.hosts.service.address}:${servicePort}`,
      SERVICE_API_KEY: workerKey as string,
      AGENT_ID: agent.id as string,
      ...env,
    };
    const command = [process.execPath, join(this.folder, 'muster-worker.js')];
    const child = this.hosts.runOnHost(this.hosts.worker, command, own, home);
    const output: string[] = [];
    child.stderr!.on('data', (chunk: Buffer) => output.push(chunk.toString()));
    const readAgentStatus = async () => (await this.api.get(`/api/agents/${agent.id}/status`)).body.status;
    await waitFor(
      `the worker's handshake: ${output.join('')}`,
      async () => (await readAgentStatus()) === 'online',
      30_000,
    );
    return agent.id as string;
  }

  async launchJob(workflowId: string, agentId: string) {
    const { jobId } = (await this.api.post('/api/jobs/launch', { workflowId, agentId })).body;
    return this.waitForEnd(jobId);
  }

  waitForEnd(jobId: string) {
    const readEndedJob = async () => {
      const { body } = await this.api.get(`/api/jobs/${jobId}`);
      return !['queued', 'running'].includes(body.status) && body;
    };
    return waitFor('the end of the run', readEndedJob, 60_000);
  }
}

export function computeStartDelayMs(job: { queuedAt: string; startedAt: string }): number {
  return Date.parse(job.startedAt) - Date.parse(job.queuedAt);
}
