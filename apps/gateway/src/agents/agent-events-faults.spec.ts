import {
  appendEntries,
  makeLogLine,
  followAgent,
  type ClonedDatabase,
  cloneDatabase,
  type Harness,
  makeAgent,
  startHarness,
  readTestStack,
  waitFor,
} from '@muster/testing';
import { Client } from 'pg';
import { gateway } from '../gateway.harness';

const never = String(3_600_000);

describe('event streams', () => {
  let database: ClonedDatabase;
  const harnesses: Harness[] = [];

  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterEach(async () => {
    for (const harness of harnesses.splice(0)) await harness.close();
  });
  afterAll(() => database.drop());

  const startGateway = async (env: Record<string, string> = {}) => {
    const harness = await startHarness({ ...gateway, database, env });
    harnesses.push(harness);
    return harness;
  };
  const makeTenantAgent = async (harness: Harness) => {
    const { organizationId } = await harness.makeTenant();
    const agent = await makeAgent(harness.db, { organizationId });
    return { organizationId, agentId: agent.id };
  };

  it('an event stream is notified through Redis of entries that another process writes', async () => {
    const reader = await startGateway({ EVENT_STREAMS_LOOK_MS: never });
    const writer = await startGateway({ REDIS_PREFIX: reader.env['REDIS_PREFIX']! });
    const agentRef = await makeTenantAgent(reader);
    const stream = await followAgent(reader, agentRef);
    // The stream may subscribe only after the first entry was written, so entries are written until one of them
    // arrives.
    await waitFor('an event', async () => {
      await appendEntries(writer.db, agentRef, makeLogLine('first'));
      return stream.events.length > 0;
    });
    stream.close();
  });

  it('an event stream receives every entry of another process while Redis is unreachable', async () => {
    const reader = await startGateway({ REDIS_URL: 'redis://127.0.0.1:1', EVENT_STREAMS_LOOK_MS: '50' });
    const writer = await startGateway();
    const agentRef = await makeTenantAgent(reader);
    const streams = [await followAgent(reader, agentRef), await followAgent(reader, agentRef, 0)];
    for (let n = 1; n <= 30; n += 1) await appendEntries(writer.db, agentRef, makeLogLine(`${n}`), makeLogLine(`${n}`));
    for (const stream of streams) {
      await stream.waitForEvents(60);
      expect(stream.eventIds).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
      stream.close();
    }
  });

  it('an event stream stays open while Postgres is unreachable, so that it later continues at its position', async () => {
    const harness = await startGateway({ EVENT_STREAMS_LOOK_MS: '50', EVENT_STREAMS_HEARTBEAT_MS: '150' });
    const agentRef = await makeTenantAgent(harness);
    const stream = await followAgent(harness, agentRef);
    await appendEntries(harness.db, agentRef, makeLogLine('before'));
    await stream.waitForEvents(1);
    await querySqlAsOwner(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`);
    await querySqlAsOwner(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`);
    await waitFor(
      'the database to be unreachable',
      async () => (await harness.http.get('/api/health/deep')).status === 503,
    );
    const beats = stream.comments.length;
    await waitFor('comments during the outage', () => stream.comments.length > beats + 4);
    await querySqlAsOwner(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`);
    await waitFor('the database to be reachable', () =>
      appendEntries(harness.db, agentRef, makeLogLine('after')).then(
        () => true,
        () => false,
      ),
    );
    await stream.waitForEvents(2);
    expect([stream.ended, stream.eventIds]).toEqual([false, [1, 2]]);
    stream.close();
  });

  it('open event streams are counted, end when their organization is suspended, and can be opened again', async () => {
    const harness = await startGateway({ EVENT_STREAMS_HEARTBEAT_MS: '150' });
    const [agentRef, others] = [await makeTenantAgent(harness), await makeTenantAgent(harness)];
    const [stream, other] = [await followAgent(harness, agentRef), await followAgent(harness, others)];
    const readOpenStreamsMetric = async () =>
      /muster_open_streams\{kind="events"\} (\d+)/.exec(await harness.app.metrics.registry.metrics())?.[1];
    expect(await readOpenStreamsMetric()).toBe('2');
    const root = await harness.makeTenant();
    await root.as.super_admin.patch(`/api/admin/organizations/${agentRef.organizationId}`, { suspended: true });
    await waitFor('the end', () => stream.ended);
    expect([stream.response.complete, other.ended]).toEqual([true, false]);
    await waitFor('the metric', async () => (await readOpenStreamsMetric()) === '1');
    const again = await followAgent(harness, agentRef);
    expect(again.response.statusCode).toBe(200);
    for (const each of [again, other]) each.close();
  });

  it('open event streams end when the gateway stops', async () => {
    const harness = await startGateway();
    const agentRef = await makeTenantAgent(harness);
    const streams = await Promise.all([1, 2, 3].map(() => followAgent(harness, agentRef)));
    await harness.close();
    harnesses.pop();
    await waitFor('the streams to end', () => streams.every(({ ended }) => ended));
    expect(streams.map(({ response }) => response.complete)).toEqual([true, true, true]);
  });

  it('the number of open event streams is limited per organization and per process', async () => {
    const harness = await startGateway({ EVENT_STREAMS_MAX_PER_ORGANIZATION: '2', EVENT_STREAMS_MAX: '3' });
    const [one, other] = [await makeTenantAgent(harness), await makeTenantAgent(harness)];
    const openEvents = (agentRef: typeof one) => followAgent(harness, agentRef);
    const streams = [await openEvents(one), await openEvents(one)];
    const third = await openEvents(one);
    expect([third.response.statusCode, third.response.headers['retry-after']]).toEqual([429, '10']);
    streams.push(await openEvents(other));
    expect((await openEvents(other)).response.statusCode).toBe(503);
    streams[0]!.close();
    await waitFor('a free stream slot', async () => {
      const stream = await openEvents(other);
      streams.push(stream);
      return stream.response.statusCode === 200;
    });
    for (const stream of streams) stream.close();
    await waitFor('all streams to end', () => harness.app.streams.countOpen === 0);
  });

  async function querySqlAsOwner(sql: string): Promise<void> {
    const client = new Client({ connectionString: readTestStack().databaseUrl });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }
});
