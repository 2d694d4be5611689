import { CommandDelivery } from '@muster/agents';
import { newId } from '@muster/platform';
import { FakeWorker, type Harness, type HttpClient, startHarness, type Tenant } from '@muster/testing';
import { standalone } from './standalone';

export interface Machine {
  id: string;
  /** Speaks with the agent's own key. */
  client: HttpClient;
  worker: FakeWorker;
  workerKey: string;
  bootId: string;
}

/** The whole service with one organization, and machines that shake hands as real ones do. */
export class CommandsHarness {
  private readonly workers: FakeWorker[] = [];

  private constructor(
    readonly app: Harness,
    readonly tenant: Tenant,
    readonly secret: string,
  ) {}

  static async start(): Promise<CommandsHarness> {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100' };
    const app = await startHarness({ ...standalone, env });
    const tenant = await app.makeTenant();
    const { signingSecret } = (await tenant.as.admin.get('/api/organization/signing-secret')).body;
    return new CommandsHarness(app, tenant, signingSecret as string);
  }

  async close(): Promise<void> {
    await this.app.close();
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }

  get delivery(): CommandDelivery {
    return this.app.app.nest.get(CommandDelivery, { strict: false });
  }

  sql(text: string, values: unknown[] = []): Promise<any[]> {
    return this.app.db.query('system', text, values);
  }

  /** An agent that has shaken hands, with a tunnel to a worker of ours or without. */
  async online({ tunnel = true }: { tunnel?: boolean } = {}): Promise<Machine> {
    const body = { name: newId(), provider: 'external' };
    const { agent, workerKey } = (await this.tenant.as.admin.post('/api/agents', body)).body;
    const client = this.app.http.withKey(workerKey as string);
    const worker = await FakeWorker.start(this.secret);
    this.workers.push(worker);
    const bootId = newId();
    const answer = await client.post('/api/agents/handshake', {
      agentId: agent.id,
      bootId,
      workerVersion: '1',
      ...(tunnel ? { tunnelHostname: worker.url } : {}),
    });
    if (answer.status !== 200) throw new Error(`the handshake answered ${answer.status}: ${answer.text}`);
    return { id: agent.id, client, worker, workerKey, bootId };
  }

  snippet(id: string, code = 'print(1)', more: object = {}, client: HttpClient = this.tenant.api) {
    return client.post(`/api/agents/${id}/run-snippet`, { code, ...more });
  }

  async statusOf(id: string, commandId: string): Promise<any> {
    return (await this.tenant.api.get(`/api/agents/${id}/run-snippet/status?commandId=${commandId}`)).body;
  }

  async rowOf(commandId: string): Promise<any> {
    return (await this.sql('SELECT * FROM agent_command WHERE id = $1', [commandId]))[0];
  }
}
