import { type EntryKind, readJobLogs } from '@muster/timeline';
import { newId } from '@muster/platform';
import { appendEntries, makeLogLine, type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('an agent’s logs', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentRef: { organizationId: string; agentId: string };
  const jobId = newId();

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    const agent = await makeAgent(harness.db, tenant);
    agentRef = { organizationId: tenant.organizationId, agentId: agent.id };
    const buildMarchDay = (n: number) => new Date(Date.UTC(2026, 2, n, 9));
    await appendEntries(
      harness.db,
      agentRef,
      { kind: 'provisioning', message: 'Tunnel is up', at: buildMarchDay(1) },
      {
        kind: 'lifecycle',
        source: 'api',
        message: 'asked to',
        at: buildMarchDay(2),
        data: { eventType: 'manual_start' },
      },
      { kind: 'execution', message: 'Opening 100% of C:\\claims', jobId, at: buildMarchDay(3) },
      { kind: 'execution', message: 'no_eob found', jobId, level: 'warn', at: buildMarchDay(4) },
      { kind: 'job', message: 'completed', jobId, at: buildMarchDay(5), data: { status: 'completed' } },
      { kind: 'execution', message: 'another run', jobId: newId(), level: 'error', at: buildMarchDay(6) },
    );
    const neighbour = await makeAgent(harness.db, { ...agentRef, name: 'neighbour' });
    await appendEntries(harness.db, { ...agentRef, agentId: neighbour.id }, makeLogLine('not here'));
  });
  afterAll(() => harness.close());

  const requestLogs = (query = '') => tenant.as.viewer.get(`/api/agents/${agentRef.agentId}/logs${query}`);
  const listEntryIds = async (query: string) =>
    (await requestLogs(query)).body.entries.map(({ id }: { id: string }) => Number(id));

  it('an agent’s logs list its whole timeline, newest first', async () => {
    const { status, body } = await requestLogs();
    expect([status, body.nextCursor]).toEqual([200, null]);
    expect(body.entries.map(({ kind }: { kind: EntryKind }) => kind)).toEqual([
      'execution',
      'job',
      'execution',
      'execution',
      'lifecycle',
      'provisioning',
    ]);
    expect(body.entries[4]).toEqual({
      id: '2',
      kind: 'lifecycle',
      level: 'info',
      message: 'asked to',
      source: 'api',
      jobId: null,
      data: { eventType: 'manual_start' },
      timestamp: '2026-03-02T09:00:00.000Z',
    });
  });

  it.each([
    ['kind=execution', [6, 4, 3]],
    ['level=warn', [4]],
    [`jobId=${jobId}`, [5, 4, 3]],
    [`jobId=${jobId}&kind=execution&level=info`, [3]],
    ['q=OPENING', [3]],
    ['q=100%25', [3]],
    ['q=_', [4]],
    ['q=C:\\', [3]],
    ['q=%25', [3]],
    ['q=nothing', []],
    ['from=2026-03-05T09:00:00Z', [6, 5]],
    ['to=2026-03-02T09:00:00%2B00:00', [2, 1]],
    ['from=2026-03-03T00:00:00Z&to=2026-03-04T23:00:00Z&order=asc', [3, 4]],
    ['order=asc&limit=2', [1, 2]],
  ])('an agent’s logs can be filtered by %s', async (query, expected) => {
    expect(await listEntryIds(`?${query}`)).toEqual(expected);
  });

  it.each(['asc', 'desc'])('pages of logs (%s) miss and repeat no entry while entries are added', async (order) => {
    const agent = await makeAgent(harness.db, { ...agentRef, name: `pages ${order}` });
    const here = { ...agentRef, agentId: agent.id };
    const makeLogLines = (count: number) => Array.from({ length: count }, (_, at) => makeLogLine(`line ${at}`));
    await appendEntries(harness.db, here, ...makeLogLines(11));
    const received: number[] = [];
    for (let cursor = ''; ;) {
      const answer = await tenant.api.get(`/api/agents/${agent.id}/logs?limit=3&order=${order}${cursor}`);
      received.push(...answer.body.entries.map(({ id }: { id: string }) => Number(id)));
      if (!answer.body.nextCursor) break;
      cursor = `&cursor=${answer.body.nextCursor}`;
      if (received.length === 3) await appendEntries(harness.db, here, ...makeLogLines(2));
    }
    const all = Array.from({ length: order === 'asc' ? 13 : 11 }, (_, at) => at + 1);
    expect(received).toEqual(order === 'asc' ? all : all.reverse());
  });

  it.each(['kind=other', 'level=fatal', 'jobId=1', 'q=', 'from=yesterday', 'order=up', 'cursor=WyJhIl0', 'limit=0'])(
    'logs are refused for the invalid query %s',
    async (query) => {
      const { status, body } = await requestLogs(`?${query}`);
      expect([status, body.code]).toEqual([400, 'invalid_payload']);
    },
  );

  it('an agent’s logs are shown only to clients of its organization', async () => {
    const other = await harness.makeTenant();
    for (const id of [agentRef.agentId, newId()]) {
      const { status, body } = await other.api.get(`/api/agents/${id}/logs`);
      expect([status, body.code]).toEqual([404, 'agent_not_found']);
    }
    expect(await readJobLogs(harness.db, other.organizationId, jobId, { limit: 10, after: null })).toEqual([]);
  });

  it('the log lines of a job are read in the order in which they were written', async () => {
    const buildPage = (after: string | null) => ({ limit: 1, after: after ? [after] : null });
    const readLogs = (after: string | null, filters = {}) =>
      readJobLogs(harness.db, agentRef.organizationId, jobId, buildPage(after), filters);
    expect((await readLogs(null)).map(({ seq }) => seq)).toEqual([3, 4]);
    expect((await readLogs('3')).map(({ message }) => message)).toEqual(['no_eob found']);
    expect((await readLogs(null, { level: 'warn' })).map(({ seq }) => seq)).toEqual([4]);
  });
});
