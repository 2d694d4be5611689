// This test is long because it kills processes at each boundary of a webhook delivery.
// A short test of the same code: apps/standalone/src/webhooks/delivered.spec.ts
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@muster/platform';
import {
  type ClonedDatabase,
  cloneDatabase,
  HttpClient,
  chooseSize,
  openPool,
  buildTestEnvironment,
  waitFor,
} from '@muster/testing';
import type { Pool } from 'pg';
import { Webhook } from 'standardwebhooks';
import { SuperAdmin } from './fault-fixture';
import { ServiceProcess } from './service-process';
import { WebhookPausePoints, type WebhookPausePoint, webhookPausePointTriggers } from './webhook-pause-points';

jest.setTimeout(300_000);

type App = 'gateway' | 'ingest' | 'scheduler' | 'feedback-sync';
const kills = chooseSize('WEBHOOK_KILLS', { short: 2, long: 20 });
const password = 'correct horse battery';

interface Org {
  admin: HttpClient;
  workerKey: string;
  paths: string[];
}

describe('webhook events while processes are killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let pausePoints: WebhookPausePoints;
  let receiver: Server;
  const services = {} as Record<App, ServiceProcess>;
  const received: { path: string; headers: Record<string, string>; body: string }[] = [];
  /** Called before the receiver answers a delivery. */
  let runBeforeAnswer: () => Promise<void> | void = () => undefined;
  const secrets = new Map<string, string>();
  /** Redis prefix of all processes. Without a shared prefix, only sweeps would find the events of other processes. */
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const orgs: Org[] = [];

  const startApp = async (app: App) => {
    const env = {
      ...{ OUTBOUND_ALLOW: '127.0.0.1', OUTBOX_SWEEP_MS: '200', OUTBOX_REPUBLISH_MS: '2000', LOG_LEVEL: 'warn' },
      ...{ BOOTSTRAP_ORGANIZATION: 'First', BOOTSTRAP_ADMIN_EMAIL: 'one@example.com' },
      ...{ BOOTSTRAP_ADMIN_PASSWORD: password, BOOTSTRAP_SUPER_ADMIN_EMAIL: 'root@example.com' },
      ...{ BOOTSTRAP_SUPER_ADMIN_PASSWORD: password },
    };
    services[app] = await ServiceProcess.start(app, {
      ...buildTestEnvironment(database.url, env),
      REDIS_PREFIX: prefix,
    });
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    pausePoints = await WebhookPausePoints.createPausePoints(pool);
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ path: request.url!, headers: request.headers as Record<string, string>, body });
        void Promise.resolve(runBeforeAnswer()).then(() => response.writeHead(204).end());
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    for (const app of ['gateway', 'ingest', 'scheduler', 'feedback-sync'] as const) await startApp(app);
    const http = new HttpClient(services.gateway.url);
    const root = await new SuperAdmin('root@example.com', password).signIn(services.gateway.url);
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
        const created = await admin.post('/api/webhook-endpoints', { url, events: ['agent.online', 'job.cancelled'] });
        secrets.set(path, created.body.secret);
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
    const created = await createGatewayClient({ admin }).post('/api/agents', { name: newId(), provider: 'external' });
    expect(created.status).toBe(201);
    return created.body.agent.id;
  }

  /** Returns the client for the current address of the gateway. */
  function createGatewayClient({ admin }: Pick<Org, 'admin'>): HttpClient {
    return admin.at(services.gateway.url);
  }

  /** Launches a job that stays queued because its agent is offline, so the gateway itself records its cancellation. */
  async function launchQueuedJob(org: Org): Promise<string> {
    const agentId = await makeAgent(org);
    const client = createGatewayClient(org);
    const { body: workflow } = await client.post('/api/workflows', { name: newId(), script: 'pass' });
    const launched = await client.post('/api/jobs/launch', { workflowId: workflow.id, agentId });
    expect(launched.status).toBe(202);
    return launched.body.jobId;
  }

  /** Cancels the job; repeats the request until it is answered. */
  async function cancelJob(org: Org, jobId: string): Promise<void> {
    await waitFor(
      'the cancellation to be answered',
      async () => {
        const answer = await createGatewayClient(org)
          .post(`/api/jobs/${jobId}/cancel`)
          .catch(() => null);
        // The status 409 means that an earlier request was executed, but its response was lost.
        return answer?.status === 202 || answer?.status === 409;
      },
      60_000,
    );
  }

  /** Sends a worker's handshake; repeats it until it is answered. */
  async function sendHandshake({ workerKey }: Org, agentId: string): Promise<void> {
    const bootId = newId();
    await waitFor(
      'the handshake to be answered',
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

  /** Expects at least one signed delivery to each endpoint of the organization, and none to other organizations. */
  async function expectDelivered(org: Org, agentId: string): Promise<void> {
    const filterDeliveries = (path: string) =>
      received.filter((each) => each.path === path && each.body.includes(agentId));
    for (const path of org.paths) {
      const [delivery] = await waitFor(
        `a delivery to ${path}`,
        () => filterDeliveries(path).length > 0 && filterDeliveries(path),
        90_000,
      );
      new Webhook(secrets.get(path)!).verify(delivery!.body, delivery!.headers);
      // A repeated delivery has the same event id.
      expect(new Set(filterDeliveries(path).map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    }
    for (const other of orgs.filter((each) => each !== org))
      for (const path of other.paths) expect(filterDeliveries(path)).toEqual([]);
  }

  const killed: [WebhookPausePoint, App][] = (Object.keys(webhookPausePointTriggers) as WebhookPausePoint[]).map(
    (pausePointName) => [pausePointName, pausePointName === 'event insert' ? 'ingest' : 'feedback-sync'],
  );

  /** Events that the last test expects. A delivery that a killed process had leased is sent only after its lease. */
  const expectedEvents: [Org, string][] = [];

  it.each(killed)(
    'a webhook event is not lost if, at the pause point "%s", the app %s is killed',
    async (pausePointName, app) => {
      const org = orgs[0]!;
      const agentId = await makeAgent(org);
      const pausePoint = await pausePoints.pauseAt(pausePointName);
      const handshake = sendHandshake(org, agentId);
      await pausePoint.untilReached();
      await services[app].end('SIGKILL');
      await pausePoint.release();
      await startApp(app);
      await handshake;
      expectedEvents.push([org, agentId]);
    },
  );

  it('a webhook delivery is repeated if the sender is killed before it gets the receiver’s answer', async () => {
    const org = orgs[0]!;
    const agentId = await makeAgent(org);
    let death: Promise<unknown> | undefined;
    runBeforeAnswer = async () => {
      death ??= services['feedback-sync'].end('SIGKILL');
      await death;
    };
    await sendHandshake(org, agentId);
    await waitFor('the sender to be killed', () => death !== undefined);
    await death;
    runBeforeAnswer = () => undefined;
    await startApp('feedback-sync');
    expectedEvents.push([org, agentId]);
  });

  it('webhook events are not lost if ingest and the scheduler are killed right after the commit', async () => {
    for (let round = 0; round < kills; round += 1) {
      const org = orgs[round % 2]!;
      const agentId = await makeAgent(org);
      await sendHandshake(org, agentId);
      // The commit succeeded, but the process may have been killed before it published the queue message.
      await Promise.all([services.ingest.end('SIGKILL'), services.scheduler.end('SIGKILL')]);
      await startApp('ingest');
      await startApp('scheduler');
      expectedEvents.push([org, agentId]);
    }
  });

  it('a webhook event is recorded once if the gateway is killed and the request is repeated', async () => {
    const org = orgs[0]!;
    const jobId = await launchQueuedJob(org);
    const pausePoint = await pausePoints.pauseAt('event insert');
    const lost = createGatewayClient(org).post(`/api/jobs/${jobId}/cancel`);
    lost.catch(() => undefined);
    await pausePoint.untilReached();
    await services.gateway.end('SIGKILL');
    await expect(lost).rejects.toThrow();
    await pausePoint.release();
    await startApp('gateway');
    const countWebhookEvents = async () =>
      (await pool.query('SELECT FROM webhook_event WHERE subject_id = $1', [jobId])).rowCount;
    const { status } = (await createGatewayClient(org).get(`/api/jobs/${jobId}`)).body;
    expect([status, await countWebhookEvents()]).toEqual(status === 'queued' ? ['queued', 0] : ['cancelled', 1]);
    await cancelJob(org, jobId);
    await expectDelivered(org, jobId);
    expect(await countWebhookEvents()).toBe(1);
  });

  it('webhook events are delivered if gateway and scheduler are killed right after the commit', async () => {
    for (const org of orgs) {
      const jobId = await launchQueuedJob(org);
      await cancelJob(org, jobId);
      await Promise.all([services.gateway.end('SIGKILL'), services.scheduler.end('SIGKILL')]);
      await startApp('gateway');
      await startApp('scheduler');
      await expectDelivered(org, jobId);
    }
  });

  it('webhook events reach only the endpoints of their own organization, also after all kills', async () => {
    const [first, second] = orgs as [Org, Org];
    const agents = await Promise.all([first, second].map((org) => makeAgent(org)));
    await Promise.all([first, second].map((org, at) => sendHandshake(org, agents[at]!)));
    expectedEvents.push([first, agents[0]!], [second, agents[1]!]);
    for (const [org, agentId] of expectedEvents) await expectDelivered(org, agentId);
    await waitFor('every webhook message to be handled', async () => {
      const { rows } = await pool.query(`SELECT FROM outbox WHERE queue = 'webhooks'`);
      return rows.length === 0;
    });
  });
});
