import { newId } from '@muster/platform';
import type { Harness, Tenant } from '../app-harness';
import { FakeWorker } from './fake-worker';
import type { HttpClient } from '../http-client';

export interface FakeMachine {
  id: string;
  /** HTTP client that uses the worker key of the agent. */
  client: HttpClient;
  worker: FakeWorker;
  workerKey: string;
  bootId: string;
  /** Signing secret that the handshake returned. */
  signingSecret: string;
}

/** Machines of one organization, which perform handshakes like real machines and accept pushed commands. */
export class FakeMachines {
  private readonly workers: FakeWorker[] = [];

  private constructor(
    readonly app: Harness,
    readonly tenant: Tenant,
    readonly signingSecret: string,
  ) {}

  static async create(app: Harness): Promise<FakeMachines> {
    const tenant = await app.makeTenant();
    const { signingSecret } = (await tenant.as.admin.get('/api/organization/signing-secret')).body;
    return new FakeMachines(app, tenant, signingSecret as string);
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }

  querySql(text: string, values: unknown[] = []): Promise<any[]> {
    return this.app.db.query('system', text, values);
  }

  /** Creates an agent that has performed its handshake, with a tunnel to a fake worker or without. */
  async makeOnlineAgent({ tunnel = true }: { tunnel?: boolean } = {}): Promise<FakeMachine> {
    const body = { name: newId(), provider: 'external' };
    const { agent, workerKey } = (await this.tenant.as.admin.post('/api/agents', body)).body;
    const client = this.app.http.withKey(workerKey as string);
    const worker = await FakeWorker.start(this.signingSecret);
    this.workers.push(worker);
    const bootId = newId();
    const answer = await client.post('/api/agents/handshake', {
      agentId: agent.id,
      bootId,
      workerVersion: '1',
      ...(tunnel ? { tunnelHostname: worker.url } : {}),
    });
    if (answer.status !== 200) throw new Error(`the handshake answered ${answer.status}: ${answer.text}`);
    const { signingSecret } = answer.body;
    // The key is bound to its agent, so what is pushed has to be signed with the agent's own secret.
    worker.signingSecret = signingSecret;
    return { id: agent.id, client, worker, workerKey, bootId, signingSecret };
  }

  runSnippet(id: string, code = 'print(1)', more: object = {}, client: HttpClient = this.tenant.api) {
    return client.post(`/api/agents/${id}/run-snippet`, { code, ...more });
  }

  async readCommandStatus(id: string, commandId: string): Promise<any> {
    return (await this.tenant.api.get(`/api/agents/${id}/run-snippet/status?commandId=${commandId}`)).body;
  }

  async readCommandRow(commandId: string): Promise<any> {
    return (await this.querySql('SELECT * FROM agent_command WHERE id = $1', [commandId]))[0];
  }
}
