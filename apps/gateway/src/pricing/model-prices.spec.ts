import { bookJobCost } from '@muster/jobs';
import { recomputeCosts } from '@muster/pricing';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { endRun, insertUsage, bookCost } from './ended-runs.harness';

describe('prices of models', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const path = '/api/organization/model-prices';
  const buildPrice = (model: string, inputUsdPerMillion: number, from = '2026-01-01', outputUsdPerMillion = 0) => ({
    provider: 'acme',
    model,
    inputUsdPerMillion,
    outputUsdPerMillion,
    from,
  });
  const putPrices = (...prices: object[]) => tenant.as.admin.put(path, { prices });
  /** Recomputes costs as the metering app does. */
  const recomputeAllCosts = (id: string) =>
    recomputeCosts(harness.db, id, (tx, jobId) => bookJobCost(tx, jobId, { reprice: true }));
  const readJobCost = async (jobId: string) => (await tenant.as.viewer.get(`/api/jobs/${jobId}/cost`)).body;
  const endRunWithUsage = (finishedAt: string, ...used: Parameters<typeof insertUsage>[2]) =>
    endRun(harness.db, { organizationId: tenant.organizationId, finishedAt, used });

  it('an organization’s own model prices apply before the default ones, and are replaced as a whole', async () => {
    const before = (await tenant.as.viewer.get(path)).body.prices;
    expect(before.length).toBeGreaterThan(20);
    expect(before.every(({ source }: { source: string }) => source === 'default')).toBe(true);
    const first = await putPrices(buildPrice('m1', 2), buildPrice('m2', 0.000001, '2026-02-28'));
    expect([first.status, first.body.prices.length]).toEqual([200, before.length + 2]);
    expect((await putPrices(buildPrice('m3', 1))).body.prices[0]).toEqual({
      ...buildPrice('m3', 1),
      source: 'organization',
    });
    expect((await tenant.as.viewer.get(path)).body.prices).toEqual([
      { ...buildPrice('m3', 1), source: 'organization' },
      ...before,
    ]);
    const otherTenant = await harness.makeTenant();
    expect((await otherTenant.as.viewer.get(path)).body.prices).toEqual(before);
    const [entry] = (await tenant.as.admin.get('/api/audit?limit=1')).body.entries;
    expect(entry).toMatchObject({
      action: 'model_prices.replace',
      changes: { prices: [2, 1], added: 1, addedPrices: ['acme m3 from 2026-01-01: 1 in, 0 out'], removed: 2 },
    });
  });

  it('if several lists of model prices are saved concurrently, one of the lists is stored completely', async () => {
    const lists = [1, 2, 3, 4].map((usd) => Array.from({ length: 50 }, (_, at) => buildPrice(`m${at}`, usd)));
    const answers = await Promise.all(lists.map((list) => putPrices(...list)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const own = (await tenant.as.viewer.get(path)).body.prices.filter(
      (each: { source: string }) => each.source !== 'default',
    );
    expect(own).toHaveLength(50);
    expect(new Set(own.map((each: { inputUsdPerMillion: number }) => each.inputUsdPerMillion)).size).toBe(1);
  });

  it('own and default model prices are replaced only at the revision that If-Match names', async () => {
    for (const [client, url, source] of [
      [tenant.as.admin, path, 'organization'],
      [tenant.as.super_admin, '/api/admin/model-prices', 'default'],
    ] as const) {
      const before = await client.get(url);
      const read = before.headers.get('etag')!;
      const replacePrices = (ifMatch: string, ...prices: object[]) =>
        client.with({ 'if-match': ifMatch }).put(url, { prices });
      const both = await Promise.all([
        replacePrices(read, buildPrice('mine', 1)),
        replacePrices(read, buildPrice('theirs', 2)),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
      const [first, stale] = both.sort((a, b) => a.status - b.status);
      expect([stale!.body.code, stale!.headers.get('etag')]).toEqual([
        'precondition_failed',
        first!.headers.get('etag'),
      ]);
      const stored = await client.get(url);
      expect([stored.body, stored.headers.get('etag')]).toEqual([first!.body, first!.headers.get('etag')]);
      expect((await replacePrices(stored.headers.get('etag')!, buildPrice('next', 3))).status).toBe(200);
      const former = before.body.prices.filter((each: { source: string }) => each.source === source);
      const prices = former.map(({ source: _, ...each }: { source: string }) => each);
      expect((await replacePrices('*', ...prices)).headers.get('etag')).toBe(read);
    }
  });

  it.each<[string, object]>([
    ['prices.0.inputUsdPerMillion', buildPrice('m', -1)],
    ['prices.0.inputUsdPerMillion', buildPrice('m', 10_001)],
    ['prices.0.inputUsdPerMillion', buildPrice('m', 0.0000001)],
    ['prices.0.inputUsdPerMillion', { ...buildPrice('m', 1), inputUsdPerMillion: '1' }],
    ['prices.0.from', buildPrice('m', 1, '2026-02-29')],
    ['prices.0.from', buildPrice('m', 1, '2026-01-01T00:00:00Z')],
    ['prices.0.model', buildPrice('', 1)],
    ['prices.0.model', buildPrice('m'.repeat(201), 1)],
    ['prices.0.source', { ...buildPrice('m', 1), source: 'default' }],
  ])('model prices with an invalid %s are refused and change nothing', async (field, bad) => {
    await putPrices(buildPrice('kept', 1));
    const answer = await putPrices(bad);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    expect((await tenant.as.viewer.get(path)).body.prices[0].model).toBe('kept');
  });

  it('two prices that start on the same day are refused if their model names differ only in case', async () => {
    const answer = await putPrices(buildPrice('GPT', 1), buildPrice('gpt', 2));
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'prices.1']);
  });

  it('a list of too many model prices, or with half a surrogate pair in a name, is refused', async () => {
    expect((await putPrices(...Array.from({ length: 2001 }, (_, at) => buildPrice(`m${at}`, 1)))).status).toBe(400);
    expect((await putPrices(...Array.from({ length: 100_000 }, () => ({})))).status).toBe(400);
    expect((await putPrices(buildPrice('\ud800', 1))).status).toBe(400);
    expect((await putPrices(buildPrice('🦷', 1))).status).toBe(200);
  });

  it('model usage is charged the newest price of its model that starts by its UTC day, ignoring case in the model’s name', async () => {
    await putPrices(
      buildPrice('M', 1, '2026-03-01'),
      buildPrice('m', 2, '2026-03-10'),
      buildPrice('m', 4, '2026-04-01'),
    );
    const buildUsageAt = (at: string) => ({ provider: 'Acme', model: 'm', input: 1_000_000, at });
    const { id } = await endRunWithUsage(
      '2026-03-10T00:00:01Z',
      buildUsageAt('2026-02-28T23:59:59.999Z'),
      buildUsageAt('2026-03-01T00:00:00.000Z'),
      buildUsageAt('2026-03-09T23:59:59.999Z'),
      buildUsageAt('2026-03-10T00:00:00.000Z'),
    );
    const { components, totalUsd } = await readJobCost(id);
    expect(totalUsd).toBe(4);
    expect(components.filter(({ unit }: { unit: string }) => unit === 'input_token')).toEqual([
      // If two prices apply within a run, the component shows the average price of a token.
      {
        kind: 'ai',
        provider: 'Acme',
        model: 'm',
        quantity: 3_000_000,
        unit: 'input_token',
        unitPriceUsd: 4 / 3_000_000,
        amountUsd: 4,
      },
      {
        kind: 'ai',
        provider: 'Acme',
        model: 'm',
        quantity: 1_000_000,
        unit: 'input_token',
        unitPriceUsd: 0,
        amountUsd: 0,
        unpriced: true,
      },
    ]);
  });

  it('a later model price does not apply to ended runs, even with late usage, until they are recomputed', async () => {
    await putPrices(buildPrice('m', 1));
    const finishedAt = '2026-03-10T12:00:00Z';
    const { id } = await endRunWithUsage(
      finishedAt,
      { model: 'm', input: 1_000_000 },
      { model: 'free', input: 1_000_000 },
    );
    await putPrices(buildPrice('m', 5), buildPrice('free', 7));
    const ref = { jobId: id, organizationId: tenant.organizationId, finishedAt };
    await insertUsage(harness.db, ref, [{ model: 'm', input: 1_000_000 }], 10);
    await bookCost(harness.db, id);
    expect((await readJobCost(id)).totalUsd).toBe(2);

    const otherTenant = await harness.makeTenant();
    const other = await endRun(harness.db, {
      organizationId: otherTenant.organizationId,
      finishedAt,
      reportedMicros: 5,
    });
    const requested = await tenant.as.admin.post(`${path}/recompute`, { from: '2026-03-10', to: '2026-03-10' });
    expect([requested.status, requested.body.status]).toEqual([202, 'running']);
    await recomputeAllCosts(requested.body.recomputeId);
    expect((await readJobCost(id)).totalUsd).toBe(17);
    const done = await tenant.as.viewer.get(requested.headers.get('location')!);
    expect(done.body).toMatchObject({ status: 'done', runs: 1, changed: 1 });
    // A second message for the same recompute changes nothing.
    await recomputeAllCosts(requested.body.recomputeId);
    expect((await tenant.as.viewer.get(requested.headers.get('location')!)).body).toEqual(done.body);
    expect((await otherTenant.as.viewer.get(`/api/jobs/${other.id}/cost`)).body.totalUsd).toBe(0.000005);
    const usage = (await tenant.as.viewer.get('/api/usage?month=2026-03')).body;
    expect(usage.spendUsd).toBe(17);
    const [entry] = (await tenant.as.admin.get('/api/audit?limit=1')).body.entries;
    expect(entry).toMatchObject({
      action: 'model_prices.recompute',
      changes: { from: '2026-03-10', to: '2026-03-10' },
    });
  });

  it('a recompute of costs covers only runs of the requested days in the organization’s time zone', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'America/Chicago' });
    const used = { model: 'm', input: 1_000_000, at: '2026-03-10T00:00:00Z' };
    const before = await endRunWithUsage('2026-03-10T04:59:59Z', used);
    const first = await endRunWithUsage('2026-03-10T05:00:00Z', used);
    const last = await endRunWithUsage('2026-03-11T04:59:59Z', used);
    const after = await endRunWithUsage('2026-03-11T05:00:00Z', used);
    await putPrices(buildPrice('m', 1));
    const { body } = await tenant.as.admin.post(`${path}/recompute`, { from: '2026-03-10', to: '2026-03-10' });
    await recomputeAllCosts(body.recomputeId);
    const totals = await Promise.all(
      [before, first, last, after].map(async ({ id }) => (await readJobCost(id)).totalUsd),
    );
    expect(totals).toEqual([0, 1, 1, 0]);
  });

  it.each([
    { from: '2026-03-10', to: '2026-03-09' },
    { from: '2020-01-01', to: '2026-01-01' },
    { from: '2026-02-30', to: '2026-03-01' },
    { from: '2026-03-01' },
  ])('a recompute of costs is refused for %j', async (body) => {
    expect((await tenant.as.admin.post(`${path}/recompute`, body)).status).toBe(400);
  });

  it('a super_admin can replace the default model prices, also by an empty list', async () => {
    const admin = '/api/admin/model-prices';
    const shipped = (await tenant.as.super_admin.get(admin)).body.prices;
    const replaced = await tenant.as.super_admin.put(admin, { prices: [buildPrice('m', 3)] });
    expect(replaced.body.prices).toEqual([{ ...buildPrice('m', 3), source: 'default' }]);
    const { id } = await endRunWithUsage(
      '2026-03-10T12:00:00Z',
      { model: 'm', input: 1_000_000 },
      { provider: 'openai', model: 'gpt-4.1', input: 1 },
    );
    expect((await readJobCost(id)).totalUsd).toBe(3);
    await tenant.as.super_admin.put(admin, { prices: [] });
    expect((await tenant.as.viewer.get(path)).body.prices).toEqual([]);
    expect((await tenant.as.admin.put(admin, { prices: [] })).status).toBe(403);
    const again = shipped.map(({ source: _, ...each }: { source: string }) => each);
    expect((await tenant.as.super_admin.put(admin, { prices: again })).body.prices).toEqual(shipped);
  });
});
