// Long: kills processes at each boundary of a delivery.
// Short: apps/standalone/src/webhooks/delivered.spec.ts
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@muster/platform';
import {
  type ClonedDatabase,
  cloneDatabase,
  HttpClient,
  longForm,
  openPool,
  testEnvironment,
  waitFor,
} from '@muster/testing';
import type { Pool } from 'pg';
import { Webhook } from 'standardwebhooks';
import { ServiceProcess } from './service-process';
import { WebhookGates, type WebhookPlace, webhookPlaces } from './webhook-gates';

jest.setTimeout(300_000);

type App = 'gateway' | 'ingest' | 'scheduler' | 'feedback-sync';
const kills = longForm('WEBHOOK_KILLS', { short: 2, long: 20 });
const password = 'correct horse battery';

interface Org {
  admin: HttpClient;
  workerKey: string;
  paths: string[];
}

describe('webhooks whose processes are killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let gates: WebhookGates;
  let receiver: Server;
  const services = {} as Record<App, ServiceProcess>;
  const received: { path: string; headers: Record<string, string>; body: string }[] = [];
  /** Called before an answer. */
  let beforeAnswer: () => Promise<void> | void = () => undefined;
  const secrets = new Map<string, string>();
  /** One Redis for all processes: without it only sweeps would find what is to be told. */
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const orgs: Org[] = [];

  const start = async (app: App) => {
    const env = {
      ...{ OUTBOUND_ALLOW: '127.0.0.1', OUTBOX_SWEEP_MS: '200', OUTBOX_REPUBLISH_MS: '2000', LOG_LEVEL: 'warn' },
      ...{ BOOTSTRAP_ORGANIZATION: 'First', BOOTSTRAP_ADMIN_EMAIL: 'one@example.com' },
      ...{ BOOTSTRAP_ADMIN_PASSWORD: password, BOOTSTRAP_SUPER_ADMIN_EMAIL: 'root@example.com' },
      ...{ BOOTSTRAP_SUPER_ADMIN_PASSWORD: password },
    };
    services[app] = await ServiceProcess.start(app, { ...testEnvironment(database.url, env), REDIS_PREFIX: prefix });
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    gates = await WebhookGates.build(pool);
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ path: request.url!, headers: request.headers as Record<string, string>, body });
        void Promise.resolve(beforeAnswer()).then(() => response.writeHead(204).end());
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    for (const app of ['gateway', 'ingest', 'scheduler', 'feedback-sync'] as const) await start(app);
    const http = new HttpClient(services.gateway.url);
    const root = await http.signIn('root@example.com', password);
    const body = { name: 'Second', adminEmail: 'two@example.com', adminPassword: password };
    expect((await root.post('/api/admin/organizations', body)).status).toBe(201);
    for (const [email, endpoints] of [
      ['one@example.com', 2],
      ['two@example.com', 1],
    ] as const) {
      const admin = await http.signIn(email, password);
      const { secret: workerKey } = (await admin.post('/api/api-keys', { name: 'machines', scope: 'worker' })).body;
      const org: Org = { admin, workerKey, paths: [] };
      for (let at = 0; at < endpoints; at += 1) {
        const path = `/${newId()}`;
        const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
        const made = await admin.post('/api/webhook-endpoints', { url, events: ['agent.online', 'job.cancelled'] });
        secrets.set(path, made.body.secret);
        org.paths.push(path);
      }
      orgs.push(org);
    }
  });
  afterAll(async () => {
    for (const service of Object.values(services)) await service.end('SIGKILL');
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
    await pool.end();
    await database.drop();
  });

  async function makeAgent({ admin }: Org): Promise<string> {
    const made = await atGateway({ admin }).post('/api/agents', { name: newId(), provider: 'external' });
    expect(made.status).toBe(201);
    return made.body.agent.id;
  }

  /** Where it is by now. */
  function atGateway({ admin }: Pick<Org, 'admin'>): HttpClient {
    return admin.at(services.gateway.url);
  }

  /** A run that waits for its machine, which never comes: its end is a fact that the gateway makes. */
  async function waitingRun(org: Org): Promise<string> {
    const agentId = await makeAgent(org);
    const client = atGateway(org);
    const { body: workflow } = await client.post('/api/workflows', { name: newId(), script: 'pass' });
    const launched = await client.post('/api/jobs/launch', { workflowId: workflow.id, agentId });
    expect(launched.status).toBe(202);
    return launched.body.jobId;
  }

  /** A user's word, until it is heard. */
  async function cancels(org: Org, jobId: string): Promise<void> {
    await waitFor(
      'the end to be heard',
      async () => {
        const answer = await atGateway(org)
          .post(`/api/jobs/${jobId}/cancel`)
          .catch(() => null);
        // Heard before, and answered to nobody.
        return answer?.status === 202 || answer?.status === 409;
      },
      60_000,
    );
  }

  /** A worker's word, until it is heard. */
  async function comesOnline({ workerKey }: Org, agentId: string): Promise<void> {
    const bootId = newId();
    await waitFor(
      'the handshake to be heard',
      async () => {
        const client = new HttpClient(services.ingest.url).withKey(workerKey);
        const answer = await client
          .post('/api/agents/handshake', { agentId, bootId, workerVersion: '1' })
          .catch(() => null);
        return answer?.status === 200;
      },
      60_000,
    );
  }

  /** Each endpoint of its organization is told at least once, signed; nobody else ever. */
  async function isTold(org: Org, agentId: string): Promise<void> {
    const of = (path: string) => received.filter((each) => each.path === path && each.body.includes(agentId));
    for (const path of org.paths) {
      const [told] = await waitFor(`${path} to be told`, () => of(path).length > 0 && of(path), 90_000);
      new Webhook(secrets.get(path)!).verify(told!.body, told!.headers);
      // Told again, it is the same one.
      expect(new Set(of(path).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    }
    for (const other of orgs.filter((each) => each !== org))
      for (const path of other.paths) expect(of(path)).toEqual([]);
  }

  const killed: [WebhookPlace, App][] = (Object.keys(webhookPlaces) as WebhookPlace[]).map((place) => [
    place,
    place === 'fact written' ? 'ingest' : 'feedback-sync',
  ]);

  /** What somebody is to be told in the end: a delivery that a dead process had claimed waits for its lease. */
  const facts: [Org, string][] = [];

  it.each(killed)('reach everybody who is to be told, though at "%s" %s is killed', async (place, app) => {
    const org = orgs[0]!;
    const agentId = await makeAgent(org);
    const gate = await gates.close(place);
    const heard = comesOnline(org, agentId);
    await gate.reached();
    await services[app].end('SIGKILL');
    await gate.open();
    await start(app);
    await heard;
    facts.push([org, agentId]);
  });

  it('reach everybody, though the receiver has it and who sent it is killed before the answer', async () => {
    const org = orgs[0]!;
    const agentId = await makeAgent(org);
    let death: Promise<unknown> | undefined;
    beforeAnswer = async () => {
      death ??= services['feedback-sync'].end('SIGKILL');
      await death;
    };
    await comesOnline(org, agentId);
    await waitFor('its death', () => death !== undefined);
    await death;
    beforeAnswer = () => undefined;
    await start('feedback-sync');
    facts.push([org, agentId]);
  });

  it('reach everybody, though whoever made the fact and whoever sweeps are killed behind it', async () => {
    for (let round = 0; round < kills; round += 1) {
      const org = orgs[round % 2]!;
      const agentId = await makeAgent(org);
      await comesOnline(org, agentId);
      // Its commit is answered; whether it was published nobody knows.
      await Promise.all([services.ingest.end('SIGKILL'), services.scheduler.end('SIGKILL')]);
      await start('ingest');
      await start('scheduler');
      facts.push([org, agentId]);
    }
  });

  it('tell once of what the gateway was killed at, whether Postgres finished it or it was done again', async () => {
    const org = orgs[0]!;
    const jobId = await waitingRun(org);
    const gate = await gates.close('fact written');
    const lost = atGateway(org).post(`/api/jobs/${jobId}/cancel`);
    lost.catch(() => undefined);
    await gate.reached();
    await services.gateway.end('SIGKILL');
    await expect(lost).rejects.toThrow();
    await gate.open();
    await start('gateway');
    const facts = async () => (await pool.query('SELECT FROM webhook_event WHERE subject_id = $1', [jobId])).rowCount;
    const { status } = (await atGateway(org).get(`/api/jobs/${jobId}`)).body;
    expect([status, await facts()]).toEqual(status === 'queued' ? ['queued', 0] : ['cancelled', 1]);
    await cancels(org, jobId);
    await isTold(org, jobId);
    expect(await facts()).toBe(1);
  });

  it('reach everybody, though the gateway that made the fact is killed right behind it', async () => {
    for (const org of orgs) {
      const jobId = await waitingRun(org);
      await cancels(org, jobId);
      await Promise.all([services.gateway.end('SIGKILL'), services.scheduler.end('SIGKILL')]);
      await start('gateway');
      await start('scheduler');
      await isTold(org, jobId);
    }
  });

  it('reach each organization’s own receivers afterwards, too', async () => {
    const [first, second] = orgs as [Org, Org];
    const agents = await Promise.all([first, second].map((org) => makeAgent(org)));
    await Promise.all([first, second].map((org, at) => comesOnline(org, agents[at]!)));
    facts.push([first, agents[0]!], [second, agents[1]!]);
    for (const [org, agentId] of facts) await isTold(org, agentId);
    await waitFor('every message of theirs to be done with', async () => {
      const { rows } = await pool.query(`SELECT FROM outbox WHERE queue = 'webhooks'`);
      return rows.length === 0;
    });
  });
});
