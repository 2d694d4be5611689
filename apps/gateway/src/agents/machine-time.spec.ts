import { type AgentEntity, createOwnerDataSource } from '@muster/database';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeWorkflow, readPlans, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

const hour = 3_600_000;

describe('machine time by day', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'America/New_York' });
    agentId = await makeAgentWithRow({});
  });

  const makeAgentWithRow = async (row: Partial<AgentEntity>) => {
    const { organizationId } = tenant;
    const createdAt = new Date('2026-02-01T12:00:00Z');
    return (await makeAgent(harness.db, { organizationId, name: `Agent ${newId()}`, createdAt, ...row })).id;
  };
  const makeCompletedRun = (startedAt: string, finishedAt: string) =>
    makeJob(harness.db, {
      ...{ organizationId: tenant.organizationId, agentId, status: 'completed' },
      ...{ startedAt: new Date(startedAt), finishedAt: new Date(finishedAt) },
    });
  const insertIdlePeriod = (beganAt: string, endedAt: string | null, onMs: number | null, id = agentId) =>
    harness.db.query(
      'system',
      `INSERT INTO agent_idle (agent_id, organization_id, began_at, ended_at, on_ms)
       SELECT id, organization_id, $2, $3, $4 FROM agent WHERE id = $1`,
      [id, beganAt, endedAt, onMs],
    );
  const requestMachineTime = (query: string, id = agentId) =>
    tenant.as.viewer.get(`/api/agents/${id}/machine-time?${query}`);
  const readDays = async (from: string, to: string, id = agentId) => {
    const { status, body } = await requestMachineTime(`from=${from}&to=${to}`, id);
    expect(status).toBe(200);
    return body.days.map((day: Record<string, unknown>) =>
      ['day', 'hours', 'onHours', 'usedHours', 'idleHours', 'offHours', 'unknownHours', 'runs'].map((key) => day[key]),
    );
  };

  it('machine time has 23 hours on the day on which daylight saving starts, and 25 on the day on which it ends', async () => {
    // The machine is on from 8 PM on March 7 until 5 AM on March 8, which is only eight hours, and then off until noon.
    await insertIdlePeriod('2026-03-08T01:00:00Z', '2026-03-08T16:00:00Z', 8 * hour);
    expect(await readDays('2026-03-07', '2026-03-08')).toEqual([
      ['2026-03-07', 24, 4, 0, 4, 0, 20, 0],
      ['2026-03-08', 23, 4, 0, 4, 7, 12, 0],
    ]);
    const older = await makeAgentWithRow({ createdAt: new Date('2025-10-01T12:00:00Z') });
    await insertIdlePeriod('2025-11-02T03:00:00Z', '2025-11-03T06:00:00Z', 27 * hour, older);
    expect(await readDays('2025-11-01', '2025-11-03', older)).toEqual([
      ['2025-11-01', 24, 1, 0, 1, 0, 23, 0],
      ['2025-11-02', 25, 25, 0, 25, 0, 0, 0],
      ['2025-11-03', 24, 1, 0, 1, 0, 23, 0],
    ]);
  });

  it('a run over midnight adds used machine time to both days, and is counted on the day on which it ended', async () => {
    await makeCompletedRun('2026-03-06T04:00:00Z', '2026-03-06T07:00:00Z');
    expect(await readDays('2026-03-05', '2026-03-07')).toEqual([
      ['2026-03-05', 24, 1, 1, 0, 0, 23, 0],
      ['2026-03-06', 24, 2, 2, 0, 0, 22, 1],
      ['2026-03-07', 24, 0, 0, 0, 0, 24, 0],
    ]);
    const { body } = await requestMachineTime('from=2026-03-05&to=2026-03-06');
    expect(body).toMatchObject({ from: '2026-03-05', to: '2026-03-06' });
    expect(body.total).toEqual({ onHours: 3, usedHours: 3, idleHours: 0, offHours: 0, unknownHours: 45, runs: 1 });
  });

  it('a machine counts as on between two runs that are at most a minute apart', async () => {
    await makeCompletedRun('2026-03-05T12:00:00Z', '2026-03-05T13:00:00Z');
    await makeCompletedRun('2026-03-05T13:00:36Z', '2026-03-05T14:00:00Z');
    await makeCompletedRun('2026-03-05T14:01:12Z', '2026-03-05T15:00:00Z');
    expect(await readDays('2026-03-05', '2026-03-05')).toEqual([['2026-03-05', 24, 2.98, 2.97, 0.01, 0, 21.02, 3]]);
  });

  it('the time of a machine without runs counts as idle if the machine is on, and as off if it is stopped', async () => {
    const on = await makeAgentWithRow({ status: 'online', onSince: new Date('2026-03-10T12:00:00Z') });
    expect(await readDays('2026-03-10', '2026-03-11', on)).toEqual([
      ['2026-03-10', 24, 16, 0, 16, 0, 8, 0],
      ['2026-03-11', 24, 24, 0, 24, 0, 0, 0],
    ]);
    const off = await makeAgentWithRow({ status: 'stopped', statusSince: new Date('2026-03-10T14:00:00Z') });
    await insertIdlePeriod('2026-03-10T12:00:00Z', null, 2 * hour, off);
    expect(await readDays('2026-03-10', '2026-03-11', off)).toEqual([
      ['2026-03-10', 24, 2, 0, 2, 14, 8, 0],
      ['2026-03-11', 24, 0, 0, 0, 24, 0, 0],
    ]);
  });

  it('machine time counts a run in progress as used, and leaves out time that has not passed yet', async () => {
    const startedAt = new Date(Date.now() - 72 * hour);
    await makeJob(harness.db, { organizationId: tenant.organizationId, agentId, status: 'running', startedAt });
    const { body } = await requestMachineTime('');
    const { onHours, usedHours, idleHours, offHours, runs } = body.total;
    expect([onHours - usedHours, idleHours, offHours, runs]).toEqual([0, 0, 0, 0]);
    expect(usedHours).toBeCloseTo(72, 0);
    const later = new Date(Date.now() + 72 * hour).toISOString().slice(0, 10);
    const [day] = await readDays(later, later);
    expect(day.slice(2)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('machine time without a record is unknown, but time before the agent was created is not counted', async () => {
    await insertIdlePeriod('2026-02-02T05:00:00Z', '2026-02-03T05:00:00Z', null);
    expect(await readDays('2026-01-31', '2026-02-02')).toEqual([
      ['2026-01-31', 24, 0, 0, 0, 0, 0, 0],
      ['2026-02-01', 24, 0, 0, 0, 0, 17, 0],
      ['2026-02-02', 24, 0, 0, 0, 0, 24, 0],
    ]);
  });

  it('the period of machine time has 30 days by default and at most 92; an invalid one is refused with its field', async () => {
    const { body } = await requestMachineTime('');
    expect(body.days).toHaveLength(30);
    const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York' }).format(new Date());
    expect([body.to, body.days[29].day, body.days[0].day]).toEqual([today, today, body.from]);
    expect((await requestMachineTime('from=2026-01-01&to=2026-04-02')).body.days).toHaveLength(92);
    const readProblem = async (query: string) => {
      const answer = await requestMachineTime(query);
      return [answer.status, answer.body.code, answer.body.errors.map(({ field }: { field: string }) => field)];
    };
    expect(await readProblem('from=2026-01-01&to=2026-04-03')).toEqual([400, 'invalid_payload', ['to']]);
    expect(await readProblem('from=2026-01-02&to=2026-01-01')).toEqual([400, 'invalid_payload', ['to']]);
    expect(await readProblem('from=2026-01-01')).toEqual([400, 'invalid_payload', ['from']]);
    expect(await readProblem('from=9999-12-31')).toEqual([400, 'invalid_payload', ['from']]);
    expect(await readProblem('from=2026-02-30&to=2026-03-01')).toEqual([400, 'invalid_payload', ['from']]);
    expect((await requestMachineTime('to=0001-01-02')).body.days).toHaveLength(2);
  });

  it('the machine time of an unknown agent and of an agent of another organization is not found', async () => {
    await insertIdlePeriod('2026-03-08T01:00:00Z', '2026-03-08T16:00:00Z', hour);
    const otherTenant = await harness.makeTenant();
    const foreign = await otherTenant.as.viewer.get(`/api/agents/${agentId}/machine-time`);
    expect([foreign.status, foreign.body.code]).toEqual([404, 'agent_not_found']);
    expect((await requestMachineTime('', newId())).status).toBe(404);
  });

  it('the query for machine time reads only the index entries of the requested days, not all rows of the agent', async () => {
    const { organizationId } = tenant;
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const other = await makeAgentWithRow({});
    await harness.db.query(
      'system',
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, started_at, finished_at)
       SELECT gen_random_uuid(), $1, $2, 1, agent_id, 'completed', at, at + interval '3 minutes'
       FROM generate_series(timestamptz '2026-03-01', '2026-04-30', interval '10 minutes') at,
            unnest($3::uuid[]) agent_id`,
      [organizationId, workflowId, [agentId, other]],
    );
    await harness.db.query(
      'system',
      `INSERT INTO agent_idle (agent_id, organization_id, began_at, ended_at, on_ms)
       SELECT agent_id, $1, at + interval '3 minutes', at + interval '10 minutes', 420000
       FROM generate_series(timestamptz '2026-03-01', '2026-04-30', interval '10 minutes') at,
            unnest($2::uuid[]) agent_id`,
      [organizationId, [agentId, other]],
    );
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    await owner.query('ANALYZE job, agent_idle');
    await owner.destroy();
    const plans = await readPlans(harness.databaseUrl, async () => {
      expect(await readDays('2026-04-02', '2026-04-03')).toMatchObject([
        ['2026-04-02', 24, 24, 7.2, 16.8, 0, 0, 144],
        ['2026-04-03', 24, 24, 7.2, 16.8, 0, 0, 144],
      ]);
    });
    const { scans, looked } = plans.find(({ sql }) => sql.includes('range_agg'))!;
    expect(scans).toEqual(expect.arrayContaining([expect.stringMatching(/^Index.* job_agent_started_idx$/)]));
    expect(scans).toEqual(expect.arrayContaining([expect.stringMatching(/^Index.* agent_idle_pkey$/)]));
    expect(scans.filter((scan) => /^Seq Scan (job|agent_idle)$/.test(scan))).toEqual([]);
    // The query may read 144 runs and idle periods on each of two days, the row before each day, the agent and its
    // settings.
    expect(looked).toBeLessThan(2 * 2 * 146 + 10);
  });
});
