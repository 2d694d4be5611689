import { appendTimeline, type TimelineEntry } from '@muster/timeline';
import { recordOrganizationEvent } from '@muster/database';
import { MessageLedger, newId } from '@muster/platform';
import {
  appendEntries,
  EventStream,
  type Harness,
  makeAgent,
  makeApiKey,
  makeWorkflow,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { connect } from 'node:net';
import { gateway } from '../gateway.harness';

const path = '/api/events';

describe('an organization’s event stream', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;
  let workflowId: string;
  let secret: string;
  let keyId: string;

  beforeAll(async () => {
    harness = await startHarness({
      ...gateway,
      env: { EVENT_STREAMS_HEARTBEAT_MS: '300', RATE_LIMIT_PER_MINUTE: '100000' },
    });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'online' })).id;
    workflowId = (await makeWorkflow(harness.db, { organizationId })).id;
    ({ id: keyId, secret } = await makeApiKey(harness.db, { organizationId }));
  });

  const openEvents = (lastEventId?: string, query = '', on = harness) =>
    EventStream.open(`${on.url}${path}${query}`, {
      'x-api-key': secret,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    });
  /** Opens a stream, and waits until it is ready to receive events. */
  const followEvents = async (lastEventId?: string, query = '', on = harness) => {
    const stream = await openEvents(lastEventId, query, on);
    await waitFor('the beginning', () => stream.retry);
    return stream;
  };
  const buildStatusEntry = (n: number): TimelineEntry => ({
    kind: 'status',
    message: 'moved',
    data: { status: 'online', previousStatus: 'offline', reason: String(n) },
  });
  const appendStatusEntries = (...numbers: number[]) =>
    appendEntries(harness.db, { organizationId: tenant.organizationId, agentId }, ...numbers.map(buildStatusEntry));
  const listEventNumbers = (stream: EventStream) => stream.events.map(({ data }) => Number(data.why));
  const listNumbersUpTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

  it('an organization’s event stream starts at the current position with a comment, retry time and id', async () => {
    await appendStatusEntries(1);
    const stream = await followEvents();
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect([stream.comments.length, stream.retry, typeof stream.lastEventId]).toEqual([1, 2000, 'string']);
    const { lastEventId } = stream;
    await appendStatusEntries(2);
    await stream.waitForEvents(1);
    const again = await openEvents(lastEventId);
    await again.waitForEvents(1);
    expect([listEventNumbers(stream), listEventNumbers(again)]).toEqual([[2], [2]]);
    for (const each of [stream, again]) each.close();
  });

  it('an organization’s event stream follows the API contract and has no log lines of runs', async () => {
    const stream = await followEvents();
    const agentRef = { organizationId: tenant.organizationId, agentId };
    const { body } = await tenant.api.post('/api/jobs/launch', { workflowId, agentId });
    const { jobId } = body;
    await stream.waitForEvents(1);
    await appendEntries(harness.db, agentRef, { kind: 'execution', message: 'a line', jobId });
    await tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
    await stream.waitForEvents(2);
    expect((await tenant.as.admin.post(`/api/agents/${agentId}/drain`, { mode: 'finish' })).status).toBeLessThan(300);
    await stream.waitForEvents(3);
    const rows = [{}, {}];
    const batch = await tenant.api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows });
    const { batchId } = batch.body;
    await stream.waitForEvents(4);
    await tenant.api.post(`/api/batches/${batchId}/cancel`, {});
    await stream.waitForEvents(5);
    const timestamp = expect.any(String);
    const run = { type: 'job', jobId, agentId, workflowId, timestamp };
    expect(stream.events.map(({ data }) => data)).toEqual([
      { ...run, status: 'queued', previousStatus: null, progress: null },
      { ...run, status: 'cancelled', previousStatus: 'queued', progress: expect.objectContaining({ percent: 0 }) },
      { type: 'agent', agentId, status: 'draining', previousStatus: 'online', why: expect.any(String), timestamp },
      { type: 'batch', batchId, workflowId, status: 'started', total: 2, timestamp },
      { type: 'batch', batchId, workflowId, status: 'cancelling', total: 2, timestamp },
    ]);
    expect(stream.events.map(({ event, data }) => event === data.type)).toEqual([true, true, true, true, true]);
    expect(new Set(stream.events.map(({ id }) => id)).size).toBe(5);
    stream.close();
  });

  it('an organization’s event stream sends schedule outcomes, limit notices and dead letters', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 2 });
    const schedule = await tenant.as.member.post('/api/schedules', {
      name: 'Nightly',
      agentId,
      scriptId: workflowId,
      cronExpression: '0 3 * * *',
      timezone: 'UTC',
    });
    const scheduleId = schedule.body.id;
    const stream = await followEvents(undefined, '?types=schedule,limit,dead_letter');
    for (let times = 0; times < 3; times += 1) {
      await tenant.as.member.post('/api/schedules/execute', { force: true, scheduleId });
    }
    await stream.waitForEvents(4);
    const [first] = stream.events;
    const listEventData = (type: string) => stream.events.filter(({ event }) => event === type).map(({ data }) => data);
    const timestamp = expect.any(String);
    expect(first!.data).toEqual({
      type: 'schedule',
      scheduleId,
      outcome: 'launched',
      reason: null,
      jobId: expect.any(String),
      timestamp,
    });
    expect(listEventData('schedule').map(({ outcome }) => outcome)).toEqual([
      'launched',
      expect.any(String),
      expect.any(String),
    ]);
    expect(listEventData('limit')).toEqual([{ type: 'limit', limit: 'monthlyRunLimit', percent: 100, timestamp }]);
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at)
       VALUES ($1, 'dispatch', 'dispatch-agent', jsonb_build_object('agentId', $2::text), now() + interval '1 hour')`,
      [id, agentId],
    );
    const once = { attempts: 1, backoffMs: 1, maxBackoffMs: 1 };
    await harness.app.nest.get(MessageLedger, { strict: false }).recordFailure(id, new Error('broke'), once);
    await stream.waitForEvents(5);
    expect(listEventData('dead_letter')).toEqual([
      { type: 'dead_letter', id, queue: 'dispatch', name: 'dispatch-agent', timestamp },
    ]);
    stream.close();
  });

  it('an organization’s event stream sends nothing of another organization', async () => {
    const other = await harness.makeTenant();
    const { id } = await makeAgent(harness.db, { organizationId: other.organizationId });
    const stream = await followEvents();
    await appendEntries(harness.db, { organizationId: other.organizationId, agentId: id }, buildStatusEntry(1));
    await appendStatusEntries(2);
    await stream.waitForEvents(1);
    expect(listEventNumbers(stream)).toEqual([2]);
    stream.close();
  });

  it('an event stream that resumes on another connection or process misses no event, in any order of commits', async () => {
    const database = { url: harness.databaseUrl } as never;
    const second = await startHarness({ ...gateway, database, env: { REDIS_PREFIX: harness.env['REDIS_PREFIX']! } });
    const { organizationId } = tenant;
    const agents = [agentId];
    for (let n = 0; n < 5; n += 1) agents.push((await makeAgent(harness.db, { organizationId, name: `a ${n}` })).id);
    const total = 360;
    const begun = await followEvents();
    const start = begun.lastEventId!;
    begun.close();
    let next = 0;
    // Some transactions stay open while others start and commit, so they become visible in another order.
    const writing = agents.map(async (id, at) => {
      while (next < total) {
        const mine = [++next, ++next, ++next];
        await harness.db.transaction({ organizationId }, async (tx) => {
          for (const n of mine.slice(0, 1))
            recordOrganizationEvent(tx, { organizationId, type: 'limit', data: { why: n } });
          await tx.query(`SELECT pg_sleep(${at % 3 === 0 ? 0.06 : 0})`);
          const entries = mine.slice(1).map(buildStatusEntry);
          appendTimeline(tx, { organizationId, agentId: id }, entries);
        });
      }
    });
    const reading = [1, 4, 17, 90].map(async (maxEvents) => {
      const received: number[] = [];
      let last = start;
      for (let connections = 0; received.length < total; connections += 1) {
        const stream = await followEvents(last, '', connections % 2 ? second : harness);
        await waitFor('some events', () => stream.events.length >= Math.min(maxEvents, total - received.length));
        stream.close();
        received.push(...listEventNumbers(stream));
        last = stream.lastEventId!;
      }
      return received;
    });
    const all = await Promise.all(reading);
    await Promise.all(writing);
    for (const each of all) expect([...each].sort((a, b) => a - b)).toEqual(listNumbersUpTo(total));
    await second.close();
  }, 60_000);

  it('an event stream that sends a large transaction page by page can resume in the middle of it', async () => {
    const stream = await followEvents();
    const start = stream.lastEventId!;
    await appendStatusEntries(...listNumbersUpTo(5000));
    await stream.waitForEvents(5000);
    expect(listEventNumbers(stream)).toEqual(listNumbersUpTo(5000));
    const middle = await openEvents(stream.events[2345]!.id);
    await middle.waitForEvents(5000 - 2346);
    expect(listEventNumbers(middle)).toEqual(listNumbersUpTo(5000).slice(2346));
    const late = await openEvents(start);
    await late.waitForEvents(5000);
    await appendStatusEntries(5001);
    for (const each of [stream, middle, late]) {
      await waitFor('the next event', () => listEventNumbers(each).at(-1) === 5001);
      each.close();
    }
  });

  it('an event stream sends resync, then new events, if the last event id is too old or in the future', async () => {
    const stream = await followEvents();
    const [at, snapshot] = stream.lastEventId!.split('_') as [string, string];
    stream.close();
    await appendStatusEntries(1);
    const old = `${Number(at) - 8 * 86_400_000}_${snapshot}`;
    const future = `${at}_${snapshot.split('.')[0]}.99999999999.`;
    for (const lastEventId of [old, future]) {
      const resumed = await openEvents(lastEventId);
      const [resync] = await resumed.waitForEvents(1);
      expect(resync).toEqual({
        id: expect.any(String),
        event: 'resync',
        data: { type: 'resync', lastEventId, oldest: expect.any(String), latest: resync!.id },
      });
      await appendStatusEntries(2);
      await resumed.waitForEvents(2);
      expect(resumed.events[1]!.data.why).toBe('2');
      const again = await openEvents(resync!.id);
      await again.waitForEvents(1);
      expect(listEventNumbers(again)).toEqual([2]);
      for (const each of [resumed, again]) each.close();
    }
  });

  it('an organization’s event stream is refused for invalid ids and unknown types', async () => {
    for (const id of [
      'abc',
      '41',
      '1_1.1',
      '1_3.2.',
      '1_1.9.5-4',
      `1_1.2._1.2._1_${newId()}`,
      `1_${'9'.repeat(30)}.1.`,
    ]) {
      const answer = await tenant.api.with({ 'last-event-id': id }).get(path);
      expect([id, answer.status, answer.body.code]).toEqual([id, 400, 'invalid_payload']);
    }
    for (const types of ['log', 'job,', 'job,log']) {
      expect((await tenant.api.get(`${path}?types=${types}`)).body.code).toBe('invalid_payload');
    }
    expect((await tenant.worker.get(path)).status).toBe(403);
  });

  it('an event stream sends newer ids with its comments, so that the id of a quiet stream stays valid', async () => {
    const stream = await followEvents(undefined, '?types=dead_letter');
    const before = stream.lastEventId;
    await appendStatusEntries(1);
    await waitFor('a newer id', () => stream.lastEventId !== before);
    await appendStatusEntries(2);
    const all = await openEvents(stream.lastEventId);
    await all.waitForEvents(1);
    expect(listEventNumbers(all).at(-1)).toBe(2);
    expect(stream.events).toEqual([]);
    for (const each of [stream, all]) each.close();
  });

  it('a client that does not read its event stream is disconnected without delaying other streams', async () => {
    const before = harness.app.streams.countOpen;
    const slow = connect(Number(new URL(harness.url).port), '127.0.0.1');
    slow.on('error', () => undefined);
    slow.write(`GET ${path} HTTP/1.1\r\nhost: muster.test\r\nx-api-key: ${secret}\r\n\r\n`);
    slow.pause();
    await waitFor('the slow reader', () => harness.app.streams.countOpen === before + 1);
    const reader = await followEvents();
    const long = 'x'.repeat(60_000);
    let written = 0;
    await waitFor('the slow reader to be disconnected', async () => {
      const data = { status: 'online', previousStatus: 'offline', reason: long };
      const entries = listNumbersUpTo(20).map((): TimelineEntry => ({ kind: 'status', message: 'moved', data }));
      await appendEntries(harness.db, { organizationId: tenant.organizationId, agentId }, ...entries);
      written += 20;
      await reader.waitForEvents(written);
      return harness.app.streams.countOpen === before + 1;
    });
    expect(reader.events).toHaveLength(written);
    reader.close();
    slow.destroy();
    await waitFor('all readers to be disconnected', () => harness.app.streams.countOpen === before);
  });

  it('event streams of an organization and of its agents share one limit, and revoking a key ends its streams', async () => {
    const database = { url: harness.databaseUrl } as never;
    const env = { EVENT_STREAMS_MAX_PER_ORGANIZATION: '2', EVENT_STREAMS_HEARTBEAT_MS: '150' };
    const small = await startHarness({ ...gateway, database, env });
    const first = await followEvents(undefined, '', small);
    const ofAgent = await EventStream.open(`${small.url}/api/agents/${agentId}/events`, { 'x-api-key': secret });
    expect(ofAgent.response.statusCode).toBe(200);
    expect((await openEvents(undefined, '', small)).response.statusCode).toBe(429);
    ofAgent.close();
    expect((await tenant.as.admin.delete(`/api/api-keys/${keyId}`)).status).toBe(204);
    await waitFor('the end', () => first.ended);
    await small.close();
  });
});
