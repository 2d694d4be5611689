// This test is long because it pauses, kills and empties Redis and Postgres.
// A short test of the same code: apps/e2e/src/services.spec.ts
import { HttpClient, chooseSize, waitFor } from '@muster/testing';
import { countProbeMessages, type FaultFixture, openFaultFixture } from './fault-fixture';
import { createSeededRandom } from './seed';
import { ServiceProcess } from './service-process';

jest.setTimeout(180_000);

/** Time limit for a response in milliseconds, so that a hanging request fails the test. */
const patience = 2000;
const kills = chooseSize('FAULTS_KILLS', { short: 2, long: 5 });

describe('the service during an outage', () => {
  let fixture: FaultFixture;
  let service: ServiceProcess;
  let client: HttpClient;
  const random = createSeededRandom();

  beforeAll(async () => {
    fixture = await openFaultFixture();
    service = await ServiceProcess.start('standalone', fixture.env);
    client = await fixture.signIn(service.url);
  });
  afterAll(async () => {
    await service?.end();
    await fixture?.close();
  });
  beforeEach(async () => {
    await fixture.query('DELETE FROM queue_probe');
  });

  afterEach(() => {
    if (!service.alive) throw new Error(`the service died: ${service.output.slice(-3000)}`);
  });

  const sendProbeMessages = async (count: number): Promise<number> => {
    const answer = await withTimeout(client.post('/api/admin/queue-probes', { count }), patience);
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([202, expect.any(String)]);
    return answer.body.probes.length;
  };
  const waitUntilAllHandled = async (accepted: number) => {
    await waitFor(
      'every accepted probe message',
      async () => (await countProbeMessages(fixture)).handled === accepted,
      60_000,
    );
    await waitFor('an empty outbox', async () => (await fixture.query('SELECT 1 FROM outbox')).length === 0, 30_000);
    return countProbeMessages(fixture);
  };

  it('the service answers while Redis is paused, and handles each message once when Redis resumes', async () => {
    process.kill(fixture.stack.redis!.pid, 'SIGSTOP');
    let accepted = 0;
    const reads: number[] = [];
    try {
      for (let round = 0; round < 6; round += 1) {
        const [count, ...answers] = await Promise.all([
          sendProbeMessages(random.between(1, 20)),
          withTimeout(client.get('/api/health'), patience),
          withTimeout(client.get('/api/organization/settings'), patience),
          withTimeout(client.get('/api/users'), patience),
          withTimeout(new HttpClient(service.url).get('/api/users'), patience),
        ]);
        accepted += count;
        reads.push(...answers.map(({ status }) => status));
        // The outage lasts long enough for the publishing of a message to fail and to be repeated.
        await new Promise((resume) => setTimeout(resume, 700));
      }
      const deep = await withTimeout(client.get('/api/health/deep'), 5000);
      expect([deep.status, deep.body.status, deep.body.checks.queue.status]).toEqual([200, 'degraded', 'failed']);
    } finally {
      process.kill(fixture.stack.redis!.pid, 'SIGCONT');
    }
    const counts = await waitUntilAllHandled(accepted);
    printCounts('Redis paused', { ...counts, reads: reads.length });
    expect(new Set(reads)).toEqual(new Set([200, 401]));
    expect(counts).toEqual({ accepted, handled: accepted, publishedAgain: 0 });
  });

  it('the service loses no message when Redis is killed and emptied at any moment', async () => {
    let accepted = 0;
    for (let round = 0; round < kills; round += 1) {
      const pushing = (async () => {
        for (let i = 0; i < 15; i += 1) accepted += await sendProbeMessages(random.between(1, 10));
      })();
      await new Promise((resume) => setTimeout(resume, random.between(0, 150)));
      await fixture.emptyRedis();
      await pushing;
    }
    const counts = await waitUntilAllHandled(accepted);
    printCounts('Redis killed and emptied', { ...counts, kills });
    expect(counts).toEqual({ accepted, handled: accepted, publishedAgain: expect.any(Number) });
    // A message whose acknowledgement was lost with Redis may be published again; its work is still done once.
    expect(counts.publishedAgain).toBeLessThanOrEqual(accepted / 20);
  });

  it('the service answers 503 in bounded time while Postgres is down, and recovers without a restart', async () => {
    const { pid } = service;
    const statuses = new Map<number, number>();
    let flowing = true;
    const load = Array.from({ length: 4 }, async () => {
      while (flowing) {
        for (const path of ['/api/users', '/api/organization/settings']) {
          const { status } = await withTimeout(client.get(path), 10_000);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }
    });
    for (let round = 0; round < kills; round += 1) {
      await new Promise((resume) => setTimeout(resume, random.between(50, 300)));
      process.kill(fixture.stack.postgres!.pid, 'SIGKILL');
      await fixture.stack.postgres!.stop();
      await waitFor('a 503', async () => {
        const answer = await withTimeout(client.get('/api/users'), 10_000);
        if (answer.status === 503) expect(answer.body.code).toBe('service_unavailable');
        return answer.status === 503;
      });
      expect((await withTimeout(client.get('/api/health'), patience)).status).toBe(200);
      const deep = await withTimeout(client.get('/api/health/deep'), 5000);
      expect([deep.status, deep.body.checks.database.status]).toEqual([503, 'failed']);
      await fixture.stack.postgres!.restart();
      await waitFor('a 200', async () => (await withTimeout(client.get('/api/users'), 10_000)).status === 200);
    }
    flowing = false;
    await Promise.all(load);
    printCounts('Postgres killed', { ...Object.fromEntries(statuses), kills });
    if (statuses.has(500))
      throw new Error(
        service.output
          .split('\n')
          .filter((line) => line.includes('request failed'))
          .join('\n'),
      );
    expect([...statuses.keys()].filter((status) => ![200, 503].includes(status))).toEqual([]);
    expect([service.alive, service.pid]).toEqual([true, pid]);
    const counts = await waitUntilAllHandled(await sendProbeMessages(10));
    expect(counts.handled).toBe(counts.accepted);
  });

  it('the service answers the deep probe in bounded time while Postgres hangs', async () => {
    const { postgres } = fixture.stack;
    const children = await fixture.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
    );
    const stopped = [postgres!.pid, ...children.map(({ pid }) => pid)].filter((pid) => signalProcess(pid, 'SIGSTOP'));
    try {
      const deep = await withTimeout(client.get('/api/health/deep'), 6000);
      expect([deep.status, deep.body.checks.database.reason]).toEqual([503, 'no answer within 2000 ms']);
      expect((await withTimeout(client.get('/api/health'), patience)).status).toBe(200);
    } finally {
      for (const pid of stopped) signalProcess(pid, 'SIGCONT');
    }
    await waitFor('a 200', async () => (await client.get('/api/users')).status === 200, 40_000);
  });

  it('the service exits within its deadline on SIGTERM, and loses no message', async () => {
    const accepted = await sendProbeMessages(50);
    expect(await service.end('SIGTERM')).toBe(0);
    service = await ServiceProcess.start('standalone', fixture.env);
    client = await fixture.signIn(service.url);
    expect((await waitUntilAllHandled(accepted)).handled).toBe(accepted);
  });

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'the service exits on SIGTERM after Redis received %s, and loses no message',
    async (fault) => {
      process.kill(fixture.stack.redis!.pid, fault);
      await waitFor(
        'the health check to report the outage',
        async () => (await client.get('/api/health/deep')).body.checks.queue.status === 'failed',
      );
      const accepted = await sendProbeMessages(5);
      expect(await service.end('SIGTERM')).toBe(0);
      if (fault === 'SIGSTOP') process.kill(fixture.stack.redis!.pid, 'SIGCONT');
      else await fixture.stack.redis!.restart();
      service = await ServiceProcess.start('standalone', fixture.env);
      client = await fixture.signIn(service.url);
      expect((await waitUntilAllHandled(accepted)).handled).toBe(accepted);
    },
  );

  it('the service handles messages that were accepted right before a kill -9', async () => {
    let accepted = 0;
    for (let round = 0; round < kills; round += 1) {
      accepted += await sendProbeMessages(20);
      await service.end('SIGKILL');
      service = await ServiceProcess.start('standalone', fixture.env);
      client = await fixture.signIn(service.url);
    }
    const counts = await waitUntilAllHandled(accepted);
    printCounts('service killed', { ...counts, kills });
    expect(counts.handled).toBe(accepted);
  });

  function printCounts(subject: string, counts: Record<string, number>): void {
    process.stdout.write(`${subject} (seed ${random.seed}): ${JSON.stringify(counts)}\n`);
  }
});

function signalProcess(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
