import {
  appendEntries,
  makeLogLine,
  followAgent,
  EventStream,
  type Harness,
  makeAgent,
  makeApiKey,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { newId } from '@muster/platform';
import fc from 'fast-check';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gateway } from '../gateway.harness';

describe('an agent’s event stream', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentRef: { organizationId: string; agentId: string };

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { EVENT_STREAMS_HEARTBEAT_MS: '150' } });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    const { organizationId } = tenant;
    const agent = await makeAgent(harness.db, { organizationId, name: `agent ${newId()}` });
    agentRef = { organizationId, agentId: agent.id };
  });

  const openEvents = (lastEventId?: number | string) => followAgent(harness, agentRef, lastEventId);
  const writeLogLines = (...messages: string[]) =>
    appendEntries(harness.db, agentRef, ...messages.map((message) => makeLogLine(message)));
  const listNumbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const getEventsPath = () => `/api/agents/${agentRef.agentId}/events`;

  it('an agent’s event stream starts at the current position with a comment, the retry time and an id', async () => {
    await writeLogLines('before');
    const stream = await openEvents();
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String),
    });
    await waitFor('the beginning', () => stream.retry);
    expect([stream.comments.length, stream.retry, stream.lastEventId]).toEqual([1, 2000, '1']);
    await writeLogLines('after');
    expect(await stream.waitForEvents(1)).toEqual([
      { id: '2', event: 'log', data: expect.objectContaining({ message: 'after' }) },
    ]);
    stream.close();
  });

  it('an agent’s event stream sends each kind of timeline entry as the API contract defines it', async () => {
    const stream = await openEvents(0);
    const jobId = newId();
    const at = new Date('2026-03-02T09:00:00.500Z');
    const timestamp = at.toISOString();
    await appendEntries(
      harness.db,
      agentRef,
      {
        kind: 'lifecycle',
        source: 'idle_monitor',
        message: 'idle for 30 minutes',
        at,
        data: {
          eventType: 'idle_stop_success',
          reason: 'idle for 30 minutes',
          previousStatus: 'online',
          currentStatus: 'stopped',
        },
      },
      {
        kind: 'status',
        message: 'stopped',
        at,
        data: { status: 'stopped', previousStatus: 'stopping', lastSeen: timestamp, vmState: 'off' },
      },
      {
        kind: 'job',
        message: 'running',
        jobId,
        at,
        data: { status: 'running', previousStatus: 'queued', progress: { percent: 5 } },
      },
      { kind: 'execution', message: 'line\nof "text"', jobId, level: 'warn', at },
      { kind: 'provisioning', message: 'tunnel is up', at },
    );
    const events = await stream.waitForEvents(5);
    expect(events.map(({ event }) => event)).toEqual(['lifecycle', 'status', 'job', 'log', 'log']);
    const seconds = Math.floor(at.getTime() / 1000);
    expect(events.map(({ data }) => data)).toEqual([
      {
        type: 'lifecycle',
        eventType: 'idle_stop_success',
        source: 'idle_monitor',
        reason: 'idle for 30 minutes',
        previousStatus: 'online',
        currentStatus: 'stopped',
        timestamp,
      },
      { type: 'status', status: 'stopped', previousStatus: 'stopping', lastSeen: timestamp, vmState: 'off', timestamp },
      { type: 'job', jobId, status: 'running', previousStatus: 'queued', progress: { percent: 5 }, timestamp },
      { type: 'log', jobId, level: 'warn', message: 'line\nof "text"', timestamp: seconds },
      { type: 'log', jobId: null, level: 'info', message: 'tunnel is up', timestamp: seconds },
    ]);
    stream.close();
  });

  it('an event stream that resumes during concurrent writes sends every entry exactly once', async () => {
    const scenario = fc.record({
      written: fc.integer({ min: 0, max: 8 }),
      writers: fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }), {
        minLength: 1,
        maxLength: 4,
      }),
      waitsMs: fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 9, maxLength: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ written, writers, waitsMs }) => {
        const agent = await makeAgent(harness.db, {
          organizationId: agentRef.organizationId,
          name: `agent ${newId()}`,
        });
        const here = { organizationId: agentRef.organizationId, agentId: agent.id };
        const writeManyLines = (count: number) =>
          appendEntries(harness.db, here, ...listNumbers(1, count).map((n) => makeLogLine(`line ${n}`)));
        if (written) await writeManyLines(written);
        const writing = writers.map(async (sizes) => {
          for (const size of sizes) await writeManyLines(size);
        });
        const opening = listNumbers(0, written).map(async (lastSeen) => {
          await delay(waitsMs[lastSeen]!);
          const stream = await followAgent(harness, here, lastSeen);
          return { seen: lastSeen, stream };
        });
        const streams = await Promise.all(opening);
        await Promise.all(writing);
        const last = written + writers.flat().reduce((sum, size) => sum + size, 0);
        for (const { seen: lastSeen, stream } of streams) {
          await stream.waitForEvents(last - lastSeen);
          expect(stream.eventIds).toEqual(listNumbers(lastSeen + 1, last));
          stream.close();
        }
      }),
      { numRuns: 12, seed: 20_260_302 },
    );
  });

  it('a client that reconnects to an event stream again and again receives every entry once', async () => {
    const total = 120;
    const writing = (async () => {
      for (let n = 0; n < total; n += 3) await writeLogLines('a', 'b', 'c');
    })();
    const received: number[] = [];
    let last = '0';
    for (let connections = 0; received.length < total; connections += 1) {
      const stream = await openEvents(last);
      await stream.waitForEvents(Math.min(1 + connections, total - received.length));
      stream.close();
      received.push(...stream.eventIds);
      last = stream.lastEventId!;
    }
    await writing;
    expect(received).toEqual(listNumbers(1, total));
  });

  it('an event stream sends all older entries, even if they fill many pages or are large', async () => {
    await appendEntries(harness.db, agentRef, ...listNumbers(1, 900).map((n) => makeLogLine(`line ${n}`)));
    const large = 'x'.repeat(100_000);
    await appendEntries(harness.db, agentRef, ...listNumbers(1, 20).map(() => makeLogLine(large)));
    const stream = await openEvents(0);
    await stream.waitForEvents(920);
    await writeLogLines('live');
    await stream.waitForEvents(921);
    expect(stream.eventIds).toEqual(listNumbers(1, 921));
    stream.close();
  });

  it('an event stream resumes across deleted entries without a resync event', async () => {
    const jobId = newId();
    await appendEntries(
      harness.db,
      agentRef,
      makeLogLine('1'),
      makeLogLine('2', jobId),
      makeLogLine('3', jobId),
      makeLogLine('4'),
      makeLogLine('5', jobId),
    );
    await harness.db.query('system', 'DELETE FROM timeline_entry WHERE job_id = $1', [jobId]);
    const streams = [await openEvents(1), await openEvents(3), await openEvents(4), await openEvents(5)];
    await writeLogLines('6');
    for (const [at, ids] of [[4, 6], [4, 6], [6], [6]].entries()) {
      await streams[at]!.waitForEvents(ids.length);
      expect(streams[at]!.eventIds).toEqual(ids);
      streams[at]!.close();
    }
  });

  it.each([
    ['is older than all stored entries', '3', '10'],
    ['is far in the future', '99999999999999999999', '10'],
    ['is one ahead of the latest entry', '13', '10'],
  ])('an event stream sends resync, then new entries, if the last event id %s', async (_, lastEventId, oldest) => {
    await writeLogLines(...listNumbers(1, 12).map(String));
    await harness.db.query('system', 'DELETE FROM timeline_entry WHERE agent_id = $1 AND seq < 10', [agentRef.agentId]);
    const stream = await openEvents(lastEventId);
    await writeLogLines('new');
    const [resync, next] = await stream.waitForEvents(2);
    expect(resync).toEqual({ id: '12', event: 'resync', data: { type: 'resync', lastEventId, oldest, latest: '12' } });
    expect([next!.id, next!.data.message]).toEqual(['13', 'new']);
    const again = await openEvents(stream.lastEventId);
    await writeLogLines('newer');
    expect((await again.waitForEvents(1))[0]).toMatchObject({ id: '14', event: 'log' });
    for (const each of [stream, again]) each.close();
  });

  it('an event stream that resumes right before the oldest stored entry sends no resync', async () => {
    await writeLogLines(...listNumbers(1, 12).map(String));
    await harness.db.query('system', 'DELETE FROM timeline_entry WHERE agent_id = $1 AND seq < 10', [agentRef.agentId]);
    const stream = await openEvents(9);
    expect((await stream.waitForEvents(3)).map(({ event, id }) => `${event} ${id}`)).toEqual([
      'log 10',
      'log 11',
      'log 12',
    ]);
    stream.close();
  });

  it('an event stream resumes at the Last-Event-ID header, or else at lastEventId in the query', async () => {
    await writeLogLines('1', '2', '3');
    const { secret } = await makeApiKey(harness.db, agentRef);
    const openWith = (headers: Record<string, string>) =>
      EventStream.open(`${harness.url}${getEventsPath()}?lastEventId=1`, { 'x-api-key': secret, ...headers });
    const [byQuery, byHeader] = [await openWith({}), await openWith({ 'last-event-id': '2' })];
    await byQuery.waitForEvents(2);
    await byHeader.waitForEvents(1);
    expect([byQuery.eventIds, byHeader.eventIds]).toEqual([[2, 3], [3]]);
    for (const stream of [byQuery, byHeader]) stream.close();
  });

  it('an event stream is refused for an invalid last event id or an agent outside the organization', async () => {
    for (const id of ['abc', '-1', '1.5', '1 2', '123456789012345678901']) {
      const answer = await tenant.api.with({ 'last-event-id': id }).get(getEventsPath());
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
      const query = await tenant.api.get(`${getEventsPath()}?lastEventId=${encodeURIComponent(id)}`);
      expect([query.status, query.body.code]).toEqual([400, 'invalid_payload']);
    }
    const other = await harness.makeTenant();
    for (const url of [getEventsPath(), `/api/agents/${newId()}/events`]) {
      const answer = await other.api.get(url);
      expect([answer.status, answer.body.code]).toEqual([404, 'agent_not_found']);
    }
  });

  it('a key that is bound to one agent cannot read the events and logs of another agent', async () => {
    const { id: agentId } = await makeAgent(harness.db, { organizationId: agentRef.organizationId, name: newId() });
    const { secret } = await makeApiKey(harness.db, { ...agentRef, agentId });
    for (const url of [getEventsPath(), `/api/agents/${agentRef.agentId}/logs`]) {
      const answer = await harness.http.withKey(secret).get(url);
      expect([answer.status, answer.body.code]).toEqual([403, 'permission_denied']);
    }
    expect((await harness.http.withKey(secret).get(`/api/agents/${agentId}/logs`)).status).toBe(200);
  });

  it('an agent’s event stream contains no entries of other agents', async () => {
    const stream = await openEvents();
    const neighbour = await makeAgent(harness.db, { organizationId: agentRef.organizationId, name: 'neighbour' });
    await appendEntries(harness.db, { ...agentRef, agentId: neighbour.id }, makeLogLine('not yours'));
    await writeLogLines('yours');
    await stream.waitForEvents(1);
    expect(stream.events.map(({ data }) => data.message)).toEqual(['yours']);
    stream.close();
  });

  it('an event stream sends a comment at every heartbeat interval', async () => {
    const stream = await openEvents();
    await waitFor('three comments', () => stream.comments.length >= 4);
    expect(stream.events).toEqual([]);
    stream.close();
  });

  it('a HEAD request for an event stream is answered without opening a stream', async () => {
    const answer = await tenant.api.send('HEAD', getEventsPath());
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  });

  it('a client that does not read its event stream is disconnected without delaying the streams of others', async () => {
    const { secret } = await makeApiKey(harness.db, agentRef);
    const before = harness.app.streams.countOpen;
    const slow = connect(Number(new URL(harness.url).port), '127.0.0.1');
    slow.on('error', () => undefined);
    slow.write(`GET ${getEventsPath()} HTTP/1.1\r\nhost: muster.test\r\nx-api-key: ${secret}\r\n\r\n`);
    slow.pause();
    await waitFor('the slow reader', () => harness.app.streams.countOpen === before + 1);
    const reader = await openEvents();
    const line = 'x'.repeat(60_000);
    let written = 0;
    await waitFor('the slow reader to be disconnected', async () => {
      await writeLogLines(...listNumbers(1, 20).map(() => line));
      written += 20;
      await reader.waitForEvents(written);
      return harness.app.streams.countOpen === before + 1;
    });
    expect(reader.eventIds).toEqual(listNumbers(1, written));
    reader.close();
    slow.destroy();
    await waitFor('all readers to be disconnected', () => harness.app.streams.countOpen === before);
  });

  it('only the event streams of an API key end when that key is revoked', async () => {
    const { id, secret } = await makeApiKey(harness.db, agentRef);
    const revoked = await EventStream.open(`${harness.url}${getEventsPath()}`, { 'x-api-key': secret });
    const stays = await openEvents();
    expect((await tenant.as.admin.delete(`/api/api-keys/${id}`)).status).toBe(204);
    await waitFor('the end', () => revoked.ended);
    await writeLogLines('still here');
    await stays.waitForEvents(1);
    expect([stays.ended, revoked.events]).toEqual([false, []]);
    stays.close();
  });

  it('an event stream ends when the session that opened it ends', async () => {
    const { email, password } = await signInNewViewer();
    const login = await harness.http.post('/api/auth/login', { email, password });
    const cookie = login.headers.get('set-cookie')!.split(';')[0]!;
    const stream = await EventStream.open(`${harness.url}${getEventsPath()}`, { cookie });
    expect(stream.response.statusCode).toBe(200);
    await harness.http.with({ cookie }).post('/api/auth/logout');
    await waitFor('the end', () => stream.ended);
  });

  async function signInNewViewer() {
    const password = 'a password of some length';
    const email = `reader-${newId()}@example.com`;
    await tenant.as.admin.post('/api/users', { email, password, role: 'viewer' });
    return { email, password };
  }
});
