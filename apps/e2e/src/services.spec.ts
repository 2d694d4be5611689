import { findOwnerApp, pathOwners, serviceApps, type ServiceApp } from '@muster/contracts';
import { HttpClient, chooseSize, waitFor } from '@muster/testing';
import { countProbeMessages, type FaultFixture, openFaultFixture } from './fault-fixture';
import { createSeededRandom } from './seed';
import { ServiceProcess } from './service-process';

jest.setTimeout(180_000);

const kills = chooseSize('SERVICE_KILLS', { short: serviceApps.length, long: 42 });

describe('the six apps in six processes', () => {
  let fixture: FaultFixture;
  const services = new Map<ServiceApp, ServiceProcess>();
  let client: HttpClient;
  const random = createSeededRandom();

  beforeAll(async () => {
    fixture = await openFaultFixture();
    for (const app of serviceApps) services.set(app, await ServiceProcess.start(app, fixture.env));
    client = await fixture.signIn(services.get('gateway')!.url);
  });
  afterAll(async () => {
    await Promise.all([...services.values()].map((service) => service.end()));
    await fixture?.close();
  });

  it('the probe message of each queue is handled by the app that owns the queue', async () => {
    await client.post('/api/admin/queue-probes', {});
    const queues = await waitFor('the probe messages', async () => {
      const answer = await client.get('/api/admin/queues');
      // The test waits, because the queue message is deleted shortly after the probe is recorded as handled.
      const back = answer.body.queues.every(({ lastProbe, waiting }: any) => lastProbe?.handledAt && waiting === 0);
      return back && answer.body.queues;
    });
    for (const { app, lastProbe } of queues) expect(lastProbe.handledBy).toBe(app);
  });

  it('the audit log has the request id of a call whose message another app has handled', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await fixture.query(`UPDATE outbox SET attempts = 0`);
    const answer = await client
      .with({ 'x-request-id': 'across-processes', traceparent })
      .post('/api/admin/queue-probes', { queue: 'metering' });
    const { id } = answer.body.probes[0];
    await waitFor('the probe message', async () => (await client.get(`/api/admin/queue-probes/${id}`)).body.handledAt);
    const audit = await client.get('/api/audit?limit=1');
    expect(audit.body.entries[0].requestId).toBe('across-processes');
  });

  it('each app serves only the paths that it owns', async () => {
    for (const [app, service] of services) {
      if (app === 'gateway') continue;
      expect((await client.with({}).send('GET', '/api/users')).status).toBe(200);
      const elsewhere = await fetch(`${service.url}/api/users`);
      expect([app, elsewhere.status]).toEqual([app, 404]);
    }
    expect(new Set(pathOwners.map(({ app }) => app)).size).toBe(3);
    expect(findOwnerApp('/api/users')).toBe('gateway');
  });

  it('each app serves its metrics on its internal port and answers 404 for them on its public port', async () => {
    for (const [app, { url, internalUrl }] of services) {
      const statuses = [];
      for (const base of [url, internalUrl]) statuses.push((await fetch(`${base}/metrics`)).status);
      expect([app, ...statuses]).toEqual([app, 404, 200]);
    }
    expect([...services.keys()]).toEqual(serviceApps);
  });

  it('no accepted message is lost when each app is killed', async () => {
    await fixture.query('DELETE FROM queue_probe');
    const queues = (await client.get('/api/admin/queues')).body.queues.length;
    const victims: ServiceApp[] = Array.from({ length: kills }, (_, at) => serviceApps[at % serviceApps.length]!);
    let accepted = 0;
    // Number of probe messages of requests that a killed gateway did not answer; each may have been stored or not.
    let unanswered = 0;
    for (const victim of victims) {
      const pushing = (async () => {
        for (let i = 0; i < 5; i += 1) {
          const count = random.between(1, 10);
          const answer = await client.post('/api/admin/queue-probes', { count }).catch(() => null);
          if (victim !== 'gateway') expect(answer?.status).toBe(202);
          if (answer?.status === 202) accepted += answer.body.probes.length;
          // Without an answer, `count` probe messages for each queue may have been stored.
          else unanswered += count * queues;
        }
      })();
      await new Promise((resume) => setTimeout(resume, random.between(0, 60)));
      await services.get(victim)!.end('SIGKILL');
      await pushing;
      services.set(victim, await ServiceProcess.start(victim, fixture.env));
      if (victim === 'gateway') client = await fixture.signIn(services.get('gateway')!.url);
    }
    const haveAllBeenHandled = async () => {
      const stored = await countProbeMessages(fixture);
      return stored.handled === stored.accepted && stored.accepted >= accepted;
    };
    await waitFor('every probe message', haveAllBeenHandled, 90_000);
    await waitFor('an empty outbox', async () => (await fixture.query('SELECT 1 FROM outbox')).length === 0, 60_000);
    const counts = await countProbeMessages(fixture);
    process.stdout.write(
      `services killed (seed ${random.seed}): ${JSON.stringify({ ...counts, acknowledged: accepted, unanswered, kills })}\n`,
    );
    expect(counts.handled).toBeGreaterThanOrEqual(accepted);
    expect(counts.handled).toBeLessThanOrEqual(accepted + unanswered);
    // Ingest processes no queue, so the test checks only that it answers requests after its restart.
    expect((await fetch(`${services.get('ingest')!.url}/api/agent/heartbeat`, { method: 'POST' })).status).toBe(401);
  });

  it('each app exits with code 0 on SIGTERM', async () => {
    const codes = await Promise.all([...services.values()].map((service) => service.end('SIGTERM')));
    expect(codes).toEqual(serviceApps.map(() => 0));
  });
});

describe('a service that cannot start', () => {
  it('a service that cannot start reports all configuration errors at once, and no secret', async () => {
    const start = ServiceProcess.start('gateway', { PORT: 'many', MASTER_KEYS: 'hush', DATABASE_URL: 'nonsense' });
    const error: Error = await start.then(
      () => new Error('it started'),
      (reason: Error) => reason,
    );
    for (const part of ['DATABASE_URL must be', 'REDIS_URL is missing', 'MASTER_KEYS: key 1', 'PORT must be']) {
      expect(error.message).toContain(part);
    }
    expect(error.message).not.toMatch(/hush|\bat \w+ \(/);
  });
});
