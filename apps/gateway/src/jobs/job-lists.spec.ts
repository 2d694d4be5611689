import type { ActivityHour, FailureCause } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, isLongRun, makeAgent, makeJob, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

interface Listed {
  id: string;
  status: string;
  queuedAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  durationMs: number | null;
  totalCostUsd: number | null;
  error: string | null;
}

const names = ['queuedAt', 'startedAt', 'finishedAt', 'durationMs', 'totalCostUsd'] as const;
const sorts = names.flatMap((name) => [name, `-${name}`]);
/** Orders that the short form tests also with the many runs of the second tenant; the long form does so for all. */
const sortsOfMany = ['-startedAt', 'durationMs', 'totalCostUsd'];

describe('lists of runs', () => {
  let harness: Harness;
  let few: Tenant;
  let many: Tenant;
  let agentIds: [few: string, many: string];

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    few = await harness.makeTenant();
    many = await harness.makeTenant();
    agentIds = [await insertRuns(few, 40), await insertRuns(many, 2700)];
  });
  afterAll(() => harness.close());

  /** Inserts runs that share times and costs. Some never started, some are open, and one in nine failed. */
  async function insertRuns({ organizationId }: Tenant, count: number): Promise<string> {
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, name: 'Download EOBs' });
    const ids = Array.from({ length: count }, newId);
    await harness.db.query(
      'system',
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, queued_at, started_at,
                        finished_at, total_cost_micros, error)
       SELECT id, $2, $3, 1, $4,
              CASE WHEN n % 11 = 5 THEN 'queued' WHEN n % 13 = 3 THEN 'cancelled' WHEN n % 9 = 1 THEN 'failed' ELSE 'completed' END,
              now(), CASE WHEN n % 11 <> 5 AND n % 13 <> 3 THEN now() - n / 5 * interval '1.000007 minutes' END,
              CASE WHEN n % 11 <> 5 THEN now() - n / 5 * interval '1.000007 minutes' + n % 7 * interval '0.25 seconds' END,
              CASE WHEN n % 11 <> 5 THEN n % 4 * 1000 END, CASE WHEN n % 9 = 1 THEN 'the portal said no' END
       FROM unnest($1::uuid[]) WITH ORDINALITY ids (id, n)`,
      [ids, organizationId, workflowId, agentId],
    );
    await harness.db.query(
      'system',
      `INSERT INTO run_cost (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros,
                             total_micros, duration_ms)
       SELECT id, organization_id, 0, total_cost_micros, 0, 0, total_cost_micros,
              floor(extract(epoch FROM finished_at) * 1000) - floor(extract(epoch FROM started_at) * 1000)
       FROM job WHERE organization_id = $1 AND finished_at IS NOT NULL`,
      [organizationId],
    );
    return agentId;
  }

  async function readAll(lister: Tenant, query: string, limit: number): Promise<Listed[]> {
    const listed: Listed[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await lister.api.get(`/api/jobs?limit=${limit}&${query}${cursor}`);
      if (status !== 200) throw new Error(`${query}: ${harness.logs.slice(-4).join()}`);
      listed.push(...body.jobs);
      if (body.nextCursor === null) return listed;
      cursor = `&cursor=${body.nextCursor}`;
    }
  }

  /** Returns the rows in the expected order: by value, with null last, and by id for equal values. */
  function sortRows(sort: string, rows: Listed[]): Listed[] {
    const name = sort.replace('-', '') as (typeof names)[number];
    const sign = sort.startsWith('-') ? -1 : 1;
    const getSortValue = (row: Listed) => (name === 'queuedAt' ? null : row[name]);
    return [...rows].sort((a, b) => {
      const [x, y] = [getSortValue(a), getSortValue(b)];
      if (x !== y) return x === null ? 1 : y === null ? -1 : x < y ? -sign : sign;
      return a.id < b.id ? -sign : sign;
    });
  }

  it.each(sorts)('runs sorted by %s are listed over all pages without repeated or missing runs', async (sort) => {
    const lists = [{ tenant: few, count: 40, limit: 3 }];
    if (isLongRun() || sortsOfMany.includes(sort)) lists.push({ tenant: many, count: 2700, limit: 200 });
    for (const { tenant, count, limit } of lists) {
      const listed = await readAll(tenant, `sort=${sort}`, limit);
      expect(listed).toHaveLength(count);
      expect(listed.map(({ id }) => id)).toEqual(sortRows(sort, listed).map(({ id }) => id));
    }
  });

  it.each(['-startedAt', 'durationMs', '-totalCostUsd'])('filtered runs can be sorted by %s', async (sort) => {
    const whole = await readAll(many, '', 200);
    const [from, to] = [whole[0]!.queuedAt, new Date(Date.parse(whole[0]!.queuedAt) + 1).toISOString()];
    // The same instant in another notation, with an offset and with nanoseconds.
    const far = encodeURIComponent(from.replace(/(\d\d):(\d\d:\d\d\.\d+)Z$/, '$1:$2000999-00:00'));
    const isFailed = ({ status }: Listed) => status === 'failed';
    const filters: [string, (row: Listed) => boolean][] = [
      ['status=failed', isFailed],
      [`status=completed&agentId=${agentIds[1]}`, ({ status }) => status === 'completed'],
      ['q=portal', ({ error }) => error !== null],
      [`from=${from}&to=${to}&status=cancelled`, ({ status }) => status === 'cancelled'],
      [`from=${far}&q=portal`, ({ error }) => error !== null],
      ['from=0001-01-01T00:00Z&to=9999-12-31T23:59:59.999999999Z&status=failed', isFailed],
      [`to=${from}`, () => false],
      [`from=${from}&to=${from}`, () => false],
      [`from=${to}&to=${from}`, () => false],
    ];
    for (const [filter, fits] of filters) {
      const expected = sortRows(sort, whole.filter(fits)).map(({ id }) => id);
      const listed = await readAll(many, `sort=${sort}&${filter}`, isLongRun() ? 90 : 200);
      expect([filter, listed.map(({ id }) => id)]).toEqual([filter, expected]);
    }
  });

  it.each(['', '&sort=-finishedAt', '&sort=finishedAt', '&sort=durationMs'])(
    'runs can be filtered by the time at which they ended, also with the sort parameter "%s"',
    async (sort) => {
      const ended = (await readAll(many, 'status=failed', 200)).map(({ finishedAt }) => finishedAt!).sort();
      const [from, to] = [ended[40]!, ended[120]!];
      const isWithinDay = ({ finishedAt }: Listed) => finishedAt !== null && finishedAt >= from && finishedAt < to;
      const expected = (await readAll(many, '', 200)).filter(isWithinDay).map(({ id }) => id);
      const listed = await readAll(many, `endedFrom=${from}&endedTo=${to}${sort}`, isLongRun() ? 9 : 200);
      expect(expected.length).toBeGreaterThan(100);
      expect(listed.map(({ id }) => id).sort()).toEqual(expected.sort());
      const before = await readAll(many, `endedTo=${to}&status=failed${sort}`, 200);
      expect(before).toHaveLength(ended.filter((at) => at < to).length);
    },
  );

  it('a list of runs contains each run once while runs are added and end between the pages', async () => {
    const changing = await harness.makeTenant();
    const agentId = await insertRuns(changing, 300);
    const before = await readAll(changing, 'status=failed', 200);
    const receivedIds: string[] = [];
    for (let cursor = '', pages = 0; ; pages += 1) {
      const { body } = await changing.api.get(`/api/jobs?status=failed&limit=7${cursor}`);
      receivedIds.push(...body.jobs.map(({ id }: Listed) => id));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
      // Adds a failed run, and fails a waiting run at a random position.
      await makeJob(harness.db, { organizationId: changing.organizationId, agentId, status: 'failed' });
      await harness.db.query(
        'system',
        `UPDATE job SET status = 'failed', finished_at = now()
         WHERE id = (SELECT id FROM job WHERE organization_id = $1 AND status = 'queued' ORDER BY md5(id::text) LIMIT 1)`,
        [changing.organizationId],
      );
    }
    expect(new Set(receivedIds).size).toBe(receivedIds.length);
    expect(receivedIds).toEqual([...receivedIds].sort().reverse());
    expect(receivedIds).toEqual(expect.arrayContaining(before.map(({ id }) => id)));
  });

  it('a search finds runs by id, part of an id, error or workflow name, only in the organization', async () => {
    const [row] = await readAll(few, 'sort=queuedAt', 200);
    const countFound = async (q: string, lister = few) =>
      (await readAll(lister, `q=${encodeURIComponent(q)}`, 200)).length;
    expect((await readAll(few, `q=${row!.id.toUpperCase()}`, 10)).map(({ id }) => id)).toEqual([row!.id]);
    expect(await countFound(row!.id.slice(-10))).toBe(1);
    expect(await countFound(row!.id, many)).toBe(0);
    expect(await countFound('PORTAL said')).toBe((await readAll(few, 'status=failed', 200)).length);
    expect(await countFound('download eob')).toBe(40);
    expect(await countFound('100%')).toBe(0);
  });

  it('a search finds runs by error, by a variable’s value or by name and value, and shows their subject', async () => {
    const { organizationId, api } = await harness.makeTenant();
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, variables: ['CLAIM_ID', 'A'] });
    const makeJobWithError = (variables: Record<string, string>, error?: string) =>
      makeJob(harness.db, { organizationId, workflowId, variables, error, status: error ? 'failed' : 'completed' });
    const first = await makeJobWithError({ A: 'C-1066', CLAIM_ID: 'C-1042' });
    const second = await makeJobWithError({ A: '', CLAIM_ID: 'C-1066' }, 'the portal said no\nexit code 1');
    const listFoundJobs = async (query: string) =>
      (await api.get(`/api/jobs?${query}`)).body.jobs.map(({ id, subject }: { id: string; subject: string }) => [
        id,
        subject,
      ]);
    expect(await listFoundJobs('variable=c-1066')).toEqual([
      [second.id, 'C-1066'],
      [first.id, 'C-1042'],
    ]);
    expect(await listFoundJobs('variable=CLAIM_ID=1066')).toEqual([[second.id, 'C-1066']]);
    expect(await listFoundJobs('variable=B=1066')).toEqual([]);
    expect(await listFoundJobs('q=1042')).toEqual([[first.id, 'C-1042']]);
    expect(await listFoundJobs('error=PORTAL')).toEqual([[second.id, 'C-1066']]);
    expect(await listFoundJobs('error=1042')).toEqual([]);
  });

  it('failed runs are grouped by cause, ignoring numbers, ids and times', async () => {
    const { organizationId, api } = await harness.makeTenant();
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, name: 'Submit claims' });
    const makeFailedJob = (error: string | null, errorCode: string | null = null, workflow = workflowId) =>
      makeJob(harness.db, { organizationId, workflowId: workflow, status: 'failed', error, errorCode });
    await makeFailedJob('KeyError: C-1042\nexit code 1\nTraceback 1');
    const latest = await makeFailedJob('KeyError: C-1043\nexit code 1\nTraceback 2');
    await makeFailedJob('portal said no at 2026-11-23T03:25:59Z');
    await makeFailedJob(
      'portal said no at 2026-11-24T04:00:00Z',
      null,
      (await makeWorkflow(harness.db, { organizationId })).id,
    );
    await makeFailedJob(null, 'agent_rebooted');
    await makeJob(harness.db, { organizationId, workflowId, status: 'completed' });
    const { body } = await api.get('/api/jobs/failures');
    expect(body.complete).toBe(true);
    const groups = body.causes.map(({ message, runs, workflowName }: FailureCause) => [message, runs, workflowName]);
    expect(groups.sort()).toEqual([
      ['KeyError: C-1043', 2, 'Submit claims'],
      ['agent_rebooted', 1, 'Submit claims'],
      ['portal said no at 2026-11-24T04:00:00Z', 2, null],
    ]);
    for (const { cause, runs } of body.causes as FailureCause[]) {
      expect((await api.get(`/api/jobs?cause=${cause}`)).body.jobs).toHaveLength(runs);
    }
    const keyed = body.causes.find(({ message }: FailureCause) => message.startsWith('KeyError'));
    expect(keyed).toMatchObject({ lastJobId: latest.id, errorCode: null });
    expect((await api.get(`/api/jobs/failures?agentId=${newId()}`)).body.causes).toEqual([]);
    expect((await api.get('/api/jobs/failures?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).status).toBe(400);
    expect((await few.api.get(`/api/jobs?cause=${keyed.cause}`)).body.jobs).toEqual([]);
  });

  it('ended runs are counted by hour and outcome, with the same totals as the list of runs', async () => {
    const listed = await readAll(many, '', 200);
    const from = new Date(Date.now() - 20 * 24 * 60 * 60_000).toISOString();
    const to = new Date(Date.now() + 60_000).toISOString();
    const { body } = await many.api.get(`/api/jobs/activity?from=${from}&to=${to}`);
    const sumHours = (status: 'completed' | 'failed' | 'cancelled') => [
      status,
      body.hours.reduce((total: number, hour: ActivityHour) => total + hour[status], 0),
    ];
    const countListed = (status: string) => [
      status,
      listed.filter((run) => run.status === status && run.finishedAt !== null).length,
    ];
    for (const status of ['completed', 'failed', 'cancelled'] as const)
      expect(sumHours(status)).toEqual(countListed(status));
    expect(body.hours.every(({ at }: ActivityHour) => at.endsWith(':00:00.000Z'))).toBe(true);
    expect((await many.api.get(`/api/jobs/activity?from=2026-01-01T00:00:00Z`)).status).toBe(400);
  });

  it('a list of runs refuses an unknown order and a cursor of another order', async () => {
    const { body } = await few.api.get('/api/jobs?limit=2&sort=-startedAt');
    for (const query of ['sort=-totalCostUsd', 'sort=-finishedAt', 'sort=startedAt', 'sort=queuedAt', '']) {
      const answer = await few.api.get(`/api/jobs?${query}&cursor=${body.nextCursor}`);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
    }
    expect((await few.api.get('/api/jobs?sort=error')).status).toBe(400);
  });

  it('the CSV export of runs contains all runs in the requested order, with formulas escaped', async () => {
    const exportJobs = async (lister: Tenant, query: string) => {
      const { status, headers, text } = await lister.api.get(`/api/jobs/export?${query}`);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename="runs-\d{4}-\d\d-\d\d\.csv"$/);
      const [head, ...lines] = text
        .replace(/^\ufeff/, '')
        .trimEnd()
        .split('\r\n');
      expect(head).toMatch(/^id,status,workflowId,workflow,agentId,agent,queuedAt,/);
      return lines;
    };
    const listIds = (lines: string[]) => lines.map((line) => line.split(',')[0]);
    for (const query of ['', 'sort=-durationMs', 'sort=totalCostUsd&status=failed', 'q=portal']) {
      const listed = await readAll(many, query, 200);
      expect(listIds(await exportJobs(many, query))).toEqual(listed.map(({ id }) => id));
    }
    const { organizationId } = few;
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, name: '=cmd|"x"!A1, or' });
    const { id } = await makeJob(harness.db, { organizationId, workflowId, agentId: agentIds[0], error: '\t+1' });
    const [line] = await exportJobs(few, `q=${id}`);
    expect(line).toContain(`${id},queued,${workflowId},"'=cmd|""x""!A1, or",${agentIds[0]},`);
    expect(line).toContain(`,"'\t+1",`);
    expect(await exportJobs(many, `q=${id}`)).toEqual([]);
    expect((await few.api.get('/api/jobs/export?status=lost')).status).toBe(400);
    expect((await harness.http.get('/api/jobs/export')).status).toBe(401);
  });

  it('the log lines of a run are returned in the requested order', async () => {
    const [{ id: jobId }] = (await readAll(few, 'sort=queuedAt', 10)) as [Listed];
    await harness.db.query(
      'system',
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message, job_id)
       SELECT $1, n, $2, 'execution', CASE n WHEN 2 THEN 'error' ELSE 'info' END, 'line ' || n, $3 FROM generate_series(1, 5) n`,
      [agentIds[0], few.organizationId, jobId],
    );
    const listLogMessages = async (query: string) =>
      (await few.api.get(`/api/jobs/${jobId}/logs?${query}`)).body.entries.map(
        (entry: { message: string }) => entry.message,
      );
    expect(await listLogMessages('')).toEqual(['line 1', 'line 2', 'line 3', 'line 4', 'line 5']);
    expect(await listLogMessages('order=desc&limit=2')).toEqual(['line 5', 'line 4']);
    expect(await listLogMessages('order=desc&level=error&q=LINE')).toEqual(['line 2']);
    const { body } = await few.api.get(`/api/jobs/${jobId}/logs?order=desc&limit=2`);
    expect(await listLogMessages(`order=desc&limit=2&cursor=${body.nextCursor}`)).toEqual(['line 3', 'line 2']);
  });
});
