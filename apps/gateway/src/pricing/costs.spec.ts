import { type Harness, chooseSize, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { endRun, insertUsage, bookCost } from './ended-runs.harness';

describe('costs', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  type Run = Omit<Parameters<typeof endRun>[1], 'organizationId'>;
  const endTenantRun = (input: Run) => endRun(harness.db, { ...input, organizationId: tenant.organizationId });
  const getAsViewer = (path: string) => tenant.as.viewer.get(path);
  const readMarchCosts = async (query: string) =>
    (await getAsViewer(`/api/costs?from=2026-03-01&to=2026-03-31&${query}`)).body;
  interface Group {
    key: string;
    label: string;
    runs: number;
    totalUsd: number;
  }

  describe('costs of a run', () => {
    it('a run’s cost consists of its model usage, its machine time, and the remaining cost that its worker reported', async () => {
      const { id } = await endTenantRun({
        finishedAt: '2026-03-10T12:00:00Z',
        ms: 90_000,
        used: [
          { provider: 'openai', model: 'gpt-4.1-mini', input: 812, output: 64, reportedMicros: 5 },
          { model: 'unknown', input: 9, reportedMicros: 4_200 },
        ],
        reportedMicros: 10_000,
      });
      const { body } = await getAsViewer(`/api/jobs/${id}/cost`);
      expect(body).toEqual({
        jobId: id,
        totalUsd: 0.01,
        computedAt: expect.any(String),
        components: [
          {
            kind: 'ai',
            provider: 'acme',
            model: 'unknown',
            quantity: 9,
            unit: 'input_token',
            unitPriceUsd: 0,
            amountUsd: 0,
            unpriced: true,
          },
          {
            kind: 'ai',
            provider: 'acme',
            model: 'unknown',
            quantity: 0,
            unit: 'output_token',
            unitPriceUsd: 0,
            amountUsd: 0,
            unpriced: true,
          },
          {
            kind: 'ai',
            provider: 'acme',
            model: 'unknown',
            quantity: 1,
            unit: 'reported',
            unitPriceUsd: 0.0042,
            amountUsd: 0.0042,
          },
          {
            kind: 'ai',
            provider: 'openai',
            model: 'gpt-4.1-mini',
            quantity: 812,
            unit: 'input_token',
            unitPriceUsd: 4e-7,
            amountUsd: 0.000325,
          },
          {
            kind: 'ai',
            provider: 'openai',
            model: 'gpt-4.1-mini',
            quantity: 64,
            unit: 'output_token',
            unitPriceUsd: 0.0000016,
            amountUsd: 0.000102,
          },
          { kind: 'compute', quantity: 0.025, unit: 'hour', unitPriceUsd: 0.12, amountUsd: 0.003 },
          { kind: 'reported', quantity: 1, unit: 'reported', unitPriceUsd: 0.002373, amountUsd: 0.002373 },
        ],
      });
      expect((await getAsViewer(`/api/jobs/${id}`)).body.totalCostUsd).toBe(0.01);
    });

    it('a run’s cost uses its machine’s hourly price at the end of the run, or else the organization’s hourly price', async () => {
      const created = await tenant.as.admin.post('/api/agents', {
        name: 'Large',
        provider: 'external',
        providerConfig: { hourlyUsd: 1.5 },
      });
      expect(created.status).toBe(201);
      const large = await endTenantRun({
        finishedAt: '2026-03-10T12:00:00Z',
        ms: 3_600_000,
        agentId: created.body.agent.id,
      });
      const plain = await endTenantRun({ finishedAt: '2026-03-10T12:00:00Z', ms: 3_600_000 });
      await tenant.as.admin.patch('/api/organization/settings', { hourlyComputeUsd: 9 });
      await bookCost(harness.db, plain.id);
      const totals = [large, plain].map(async ({ id }) => (await getAsViewer(`/api/jobs/${id}/cost`)).body.totalUsd);
      expect(await Promise.all(totals)).toEqual([1.5, 0.12]);
      for (const hourlyUsd of [-1, 10_001, '1', 0.0000001, null]) {
        const bad = { name: 'Bad', provider: 'external', providerConfig: { hourlyUsd } };
        const answer = await tenant.as.admin.post('/api/agents', bad);
        expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'providerConfig.hourlyUsd']);
      }
    });

    it('a run’s cost is zero before it is computed, if the run never started, and if the clock was turned back', async () => {
      const { id } = await endTenantRun({ finishedAt: '2026-03-10T12:00:00Z', ms: null });
      const { id: turned } = await endTenantRun({ finishedAt: '2026-03-10T12:00:00Z', ms: -5_000 });
      await harness.db.query('system', 'DELETE FROM run_cost WHERE job_id = $1', [id]);
      expect((await getAsViewer(`/api/jobs/${id}/cost`)).body).toEqual({
        jobId: id,
        totalUsd: 0,
        computedAt: null,
        components: [],
      });
      expect((await getAsViewer(`/api/jobs/${turned}/cost`)).body.components).toMatchObject([
        { quantity: 0, amountUsd: 0 },
      ]);
    });

    it('a run’s cost includes late usage, also while other reports book the cost concurrently', async () => {
      const finishedAt = '2026-03-10T12:00:00Z';
      const { id } = await endTenantRun({ finishedAt });
      const ref = { jobId: id, organizationId: tenant.organizationId, finishedAt };
      await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          await insertUsage(harness.db, ref, [{ model: 'm', reportedMicros: 1_000 }], 10 + at);
          await bookCost(harness.db, id);
        }),
      );
      const { totalUsd, components } = (await getAsViewer(`/api/jobs/${id}/cost`)).body;
      expect(totalUsd).toBe(0.008);
      expect(components).toHaveLength(4);
      expect((await getAsViewer('/api/usage?month=2026-03')).body.spendUsd).toBe(0.008);
    });

    it('a run’s cost is computed for tens of thousands of model usages', async () => {
      const count = chooseSize('COST_USAGES', { short: 20_000, long: 100_000 });
      const { id } = await endTenantRun({ finishedAt: '2026-03-10T12:00:00Z' });
      await harness.db.query(
        'system',
        `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, input_tokens, cost_micros)
         SELECT $1, 1, n, $2, 'acme', 'm' || n % 1000, 1, 1 FROM generate_series(1, $3::int) n`,
        [id, tenant.organizationId, count],
      );
      await bookCost(harness.db, id);
      const { totalUsd, components } = (await getAsViewer(`/api/jobs/${id}/cost`)).body;
      expect(totalUsd).toBe(count / 1_000_000);
      expect(components.length).toBeLessThan(700);
    }, 30_000);
  });

  it('costs are grouped by the day of the run’s end in the organization’s time zone', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'Pacific/Auckland' });
    await endTenantRun({ finishedAt: '2026-03-09T10:59:59.999Z', ms: 3_600_000 });
    await endTenantRun({ finishedAt: '2026-03-09T11:00:00.000Z', ms: 3_600_000 });
    await endTenantRun({ finishedAt: '2026-03-10T10:59:59.999Z', reportedMicros: 1 });
    await endTenantRun({ finishedAt: '2026-02-28T10:59:59.999Z', ms: 3_600_000 });
    await endTenantRun({ finishedAt: '2026-03-31T11:00:00.000Z', ms: 3_600_000 });
    await endTenantRun({ finishedAt: '2026-03-10T10:00:00.000Z', ms: null, used: [{ model: 'm', reportedMicros: 5 }] });
    const amounts = { aiUsd: 0, computeUsd: 0.12, reportedUsd: 0, totalUsd: 0.12 };
    expect(await readMarchCosts('groupBy=day')).toEqual({
      from: '2026-03-01',
      to: '2026-03-31',
      groupBy: 'day',
      idle: expect.objectContaining({ policy: 'fixed', idleHours: 0 }),
      totalUsd: 0.240001,
      groups: [
        { key: '2026-03-09', label: '2026-03-09', runs: 1, ...amounts },
        { key: '2026-03-10', label: '2026-03-10', runs: 2, ...amounts, reportedUsd: 0.000001, totalUsd: 0.120001 },
      ],
    });
  });

  it('costs by workflow, agent, schedule and model have the same total in each grouping', async () => {
    const { organizationId } = tenant;
    const workflow = await makeWorkflow(harness.db, { organizationId, name: '=Claims, "all"' });
    const agent = await makeAgent(harness.db, { organizationId, name: 'Front desk' });
    const common = { workflowId: workflow.id, agentId: agent.id, finishedAt: '2026-03-10T12:00:00Z', ms: 3_600_000 };
    const created = await tenant.api.post('/api/schedules', {
      name: 'Nightly',
      scriptId: workflow.id,
      agentId: agent.id,
      cronExpression: '0 6 * * *',
    });
    await endTenantRun({
      ...common,
      scheduleId: created.body.id,
      used: [
        { model: 'A', reportedMicros: 7 },
        { model: 'b', reportedMicros: 1 },
      ],
    });
    const deleted = await endTenantRun({
      ...common,
      used: [{ model: 'a', reportedMicros: 2 }],
      reportedMicros: 500_000,
    });
    await endTenantRun({ finishedAt: common.finishedAt, ms: 1_800_000 });
    const before = await readMarchCosts('groupBy=workflow');
    expect((await tenant.as.member.delete(`/api/jobs/${deleted.id}`)).status).toBe(204);
    expect(await readMarchCosts('groupBy=workflow')).toEqual(before);
    const readGroups = async (by: string) => {
      const { groups, totalUsd } = await readMarchCosts(`groupBy=${by}`);
      const sum = groups.reduce((micros: number, group: Group) => micros + Math.round(group.totalUsd * 1e6), 0);
      expect([by, totalUsd, sum]).toEqual([by, 0.680008, 680_008]);
      return groups.map(({ key, label, runs, totalUsd: usd }: Group) => [key, label, runs, usd]);
    };
    await readGroups('day');
    expect((await readGroups('workflow'))[0]).toEqual([workflow.id, '=Claims, "all"', 2, 0.620008]);
    expect((await readGroups('agent'))[0]).toEqual([agent.id, 'Front desk', 2, 0.620008]);
    expect(await readGroups('schedule')).toEqual([
      ['none', 'none', 2, 0.56],
      [created.body.id, 'Nightly', 1, 0.120008],
    ]);
    expect(await readGroups('model')).toEqual([
      ['none', 'none', 3, 0.679998],
      ['acme/A', 'acme/A', 2, 0.000009],
      ['acme/b', 'acme/b', 1, 0.000001],
    ]);
    const csv = await getAsViewer('/api/costs/export?from=2026-03-01&to=2026-03-31&groupBy=workflow');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.text.split('\r\n').slice(0, 2)).toEqual([
      'key,label,runs,aiUsd,computeUsd,reportedUsd,totalUsd',
      `${workflow.id},"'=Claims, ""all""",2,0.00001,0.24,0.379998,0.620008`,
    ]);
    const otherTenant = await harness.makeTenant();
    expect((await otherTenant.as.viewer.get('/api/costs?from=2026-03-01&to=2026-03-31')).body.groups).toEqual([]);
    expect((await otherTenant.as.viewer.get(`/api/jobs/${deleted.id}/cost`)).status).toBe(404);
  });

  it('costs of the last thirty days are returned if no range is requested', async () => {
    const { from, to } = (await getAsViewer('/api/costs')).body;
    expect((Date.parse(to) - Date.parse(from)) / 86_400_000).toBe(29);
  });

  it.each([
    ['to', 'from=2026-03-02&to=2026-03-01'],
    ['to', 'from=2020-01-01&to=2026-03-01'],
    ['from', 'from=2026-02-29&to=2026-03-01'],
    ['from', 'from=2026-03-01T00:00:00Z'],
    ['groupBy', 'groupBy=month'],
  ])('a request for costs with an invalid %s is refused', async (field, query) => {
    for (const path of ['/api/costs', '/api/costs/export']) {
      const answer = await getAsViewer(`${path}?${query}`);
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    }
  });
});
