import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { AutopilotBody, AutopilotSession, SessionStatus } from '@muster/contracts';
import {
  FakeModel,
  FakePortal,
  type Harness,
  killAll,
  makeAgent,
  makeApiKey,
  findProcesses,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { standalone } from '../standalone';
import { buildClaimTask } from './portal-model.harness';

const workerProgram = resolve(__dirname, '../../../../dist/apps/worker/src/main.js');

export const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'google-chrome', 'chromium-browser'].map((name) => join(folder, name)))
  .find((path) => existsSync(path));
export const noChromium = chromium ? '' : ' (skipped: no Chromium on PATH)';

const finalStatuses: SessionStatus[] = ['completed', 'failed', 'cancelled'];

/** The whole service in this process, a real worker with a real browser, a fake portal and a fake model. */
export class AutopilotHarness {
  private worker?: ChildProcess;
  private readonly folder = mkdtempSync(join(tmpdir(), 'muster-autopilot-'));
  agentId!: string;
  private key!: string;

  private constructor(
    readonly harness: Harness,
    readonly tenant: Tenant,
    readonly model: FakeModel,
    readonly portal: FakePortal,
  ) {}

  static async start(): Promise<AutopilotHarness> {
    const [model, portal] = await Promise.all([FakeModel.start(), FakePortal.start()]);
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '100', PUBLIC_APP_URL: '', ...model.environment };
    const harness = await startHarness({ ...standalone, env });
    const tenant = await harness.makeTenant();
    const created = new AutopilotHarness(harness, tenant, model, portal);
    const { organizationId } = tenant;
    created.agentId = (await makeAgent(harness.db, { organizationId, provider: 'external', status: 'offline' })).id;
    created.key = (await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: created.agentId })).secret;
    await tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: portal.password });
    model.secrets.push(portal.password);
    await created.startWorker();
    return created;
  }

  /** Sets the prices of the fake model's tokens, in USD per million. */
  async setModelPrice({ inputPerMillion, outputPerMillion }: { inputPerMillion: number; outputPerMillion: number }) {
    const prices = [this.model.name, this.model.visionName].map((model) => ({
      ...{ provider: 'openai-compatible', model, from: '2020-01-01' },
      ...{ inputUsdPerMillion: inputPerMillion, outputUsdPerMillion: outputPerMillion },
    }));
    const { status, text } = await this.tenant.as.admin.put('/api/organization/model-prices', { prices });
    if (status !== 200) throw new Error(`setting the prices failed with ${status}: ${text}`);
  }

  get path(): string {
    return `/api/agents/${this.agentId}/autopilot`;
  }

  async startWorker(): Promise<void> {
    this.worker = spawn(process.execPath, [workerProgram], {
      env: {
        PATH: process.env['PATH'],
        SERVICE_BASE_URL: this.harness.url,
        SERVICE_API_KEY: this.key,
        AGENT_ID: this.agentId,
        MUSTER_WORKER_DIR: this.folder,
      },
      stdio: 'ignore',
    });
    await waitFor('the worker to be online', async () => {
      const { body } = await this.tenant.api.get(`/api/agents/${this.agentId}`);
      return body.status === 'online';
    });
  }

  async killWorker(): Promise<void> {
    const gone = once(this.worker!, 'exit');
    this.worker!.kill('SIGKILL');
    await gone;
  }

  startClaimSession(claimId: string, more: Partial<AutopilotBody> = {}) {
    return {
      action: 'start',
      task: buildClaimTask(this.portal.url),
      inputs: { PORTAL_USER: this.portal.user, CLAIM_ID: claimId, AMOUNT: '120.00' },
      vaultKeys: ['PORTAL_PASSWORD'],
      ...more,
    };
  }

  async beginSession(body: object): Promise<string> {
    const answer = await this.tenant.api.post(this.path, body);
    if (answer.status !== 202) throw new Error(`start answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body.sessionId as string;
  }

  async readSession(sessionId: string): Promise<AutopilotSession> {
    return (await this.tenant.api.get(`${this.path}?sessionId=${sessionId}`)).body as AutopilotSession;
  }

  waitForStatus(
    sessionId: string,
    statuses: SessionStatus[] = [...finalStatuses, 'paused'],
  ): Promise<AutopilotSession> {
    return waitFor(
      `a session that is ${statuses.join(' or ')}`,
      async () => {
        const session = await this.readSession(sessionId);
        return statuses.includes(session.status) && session;
      },
      90_000,
    ) as Promise<AutopilotSession>;
  }

  async close(): Promise<void> {
    this.worker?.kill('SIGTERM');
    if (this.worker && this.worker.exitCode === null) await once(this.worker, 'exit');
    await this.harness.close();
    await Promise.all([this.model.close(), this.portal.close()]);
    killAll(findProcesses(this.folder));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}
