import { settleJobCost } from '@muster/jobs';
import { recomputeCosts } from '@muster/pricing';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { endRun, report, settle } from './ended-runs.harness';

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
  const price = (model: string, inputUsdPerMillion: number, from = '2026-01-01', outputUsdPerMillion = 0) => ({
    provider: 'acme',
    model,
    inputUsdPerMillion,
    outputUsdPerMillion,
    from,
  });
  const put = (...prices: object[]) => tenant.as.admin.put(path, { prices });
  /** As the metering app does. */
  const recompute = (id: string) =>
    recomputeCosts(harness.db, id, (tx, jobId) => settleJobCost(tx, jobId, { reprice: true }));
  const costOf = async (jobId: string) => (await tenant.as.viewer.get(`/api/jobs/${jobId}/cost`)).body;
  const run = (finishedAt: string, ...used: Parameters<typeof report>[2]) =>
    endRun(harness.db, { organizationId: tenant.organizationId, finishedAt, used });

  it('are the organization’s own before the default ones, and are replaced as a whole', async () => {
    const before = (await tenant.as.viewer.get(path)).body.prices;
    expect(before.length).toBeGreaterThan(20);
    expect(before.every(({ source }: { source: string }) => source === 'default')).toBe(true);
    const first = await put(price('m1', 2), price('m2', 0.000001, '2026-02-28'));
    expect([first.status, first.body.prices.length]).toEqual([200, before.length + 2]);
    expect((await put(price('m3', 1))).body.prices[0]).toEqual({ ...price('m3', 1), source: 'organization' });
    expect((await tenant.as.viewer.get(path)).body.prices).toEqual([
      { ...price('m3', 1), source: 'organization' },
      ...before,
    ]);
    const theirs = await harness.makeTenant();
    expect((await theirs.as.viewer.get(path)).body.prices).toEqual(before);
    const [entry] = (await tenant.as.admin.get('/api/audit?limit=1')).body.entries;
    expect(entry).toMatchObject({
      action: 'model_prices.replace',
      changes: { prices: [2, 1], added: 1, addedPrices: ['acme m3 from 2026-01-01: 1 in, 0 out'], removed: 2 },
    });
  });

  it('that are put at once by two hold as one of the lists, never as parts of both', async () => {
    const lists = [1, 2, 3, 4].map((usd) => Array.from({ length: 50 }, (_, at) => price(`m${at}`, usd)));
    const answers = await Promise.all(lists.map((list) => put(...list)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const own = (await tenant.as.viewer.get(path)).body.prices.filter(
      (each: { source: string }) => each.source !== 'default',
    );
    expect(own).toHaveLength(50);
    expect(new Set(own.map((each: { inputUsdPerMillion: number }) => each.inputUsdPerMillion)).size).toBe(1);
  });

  it('replace only the revision that If-Match names, the organization’s own and the default ones', async () => {
    for (const [who, of, source] of [
      [tenant.as.admin, path, 'organization'],
      [tenant.as.super_admin, '/api/admin/model-prices', 'default'],
    ] as const) {
      const before = await who.get(of);
      const read = before.headers.get('etag')!;
      const replace = (ifMatch: string, ...prices: object[]) => who.with({ 'if-match': ifMatch }).put(of, { prices });
      const both = await Promise.all([replace(read, price('mine', 1)), replace(read, price('theirs', 2))]);
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
      const [first, stale] = both.sort((a, b) => a.status - b.status);
      expect([stale!.body.code, stale!.headers.get('etag')]).toEqual([
        'precondition_failed',
        first!.headers.get('etag'),
      ]);
      const kept = await who.get(of);
      expect([kept.body, kept.headers.get('etag')]).toEqual([first!.body, first!.headers.get('etag')]);
      expect((await replace(kept.headers.get('etag')!, price('next', 3))).status).toBe(200);
      const former = before.body.prices.filter((each: { source: string }) => each.source === source);
      const prices = former.map(({ source: _, ...each }: { source: string }) => each);
      expect((await replace('*', ...prices)).headers.get('etag')).toBe(read);
    }
  });

  it.each<[string, object]>([
    ['prices.0.inputUsdPerMillion', price('m', -1)],
    ['prices.0.inputUsdPerMillion', price('m', 10_001)],
    ['prices.0.inputUsdPerMillion', price('m', 0.0000001)],
    ['prices.0.inputUsdPerMillion', { ...price('m', 1), inputUsdPerMillion: '1' }],
    ['prices.0.from', price('m', 1, '2026-02-29')],
    ['prices.0.from', price('m', 1, '2026-01-01T00:00:00Z')],
    ['prices.0.model', price('', 1)],
    ['prices.0.model', price('m'.repeat(201), 1)],
    ['prices.0.source', { ...price('m', 1), source: 'default' }],
  ])('are refused where %s is wrong, and nothing changes', async (field, bad) => {
    await put(price('kept', 1));
    const answer = await put(bad);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    expect((await tenant.as.viewer.get(path)).body.prices[0].model).toBe('kept');
  });

  it('are refused where two of them say something of one model and day, in whatever capitals', async () => {
    const answer = await put(price('GPT', 1), price('gpt', 2));
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'prices.1']);
  });

  it('are refused where they are too many, and half of a character is none', async () => {
    expect((await put(...Array.from({ length: 2001 }, (_, at) => price(`m${at}`, 1)))).status).toBe(400);
    expect((await put(...Array.from({ length: 100_000 }, () => ({})))).status).toBe(400);
    expect((await put(price('\ud800', 1))).status).toBe(400);
    expect((await put(price('🦷', 1))).status).toBe(200);
  });

  it('hold from their day in UTC: the latest that is not after the usage, in whatever capitals', async () => {
    await put(price('M', 1, '2026-03-01'), price('m', 2, '2026-03-10'), price('m', 4, '2026-04-01'));
    const used = (at: string) => ({ provider: 'Acme', model: 'm', input: 1_000_000, at });
    const { id } = await run(
      '2026-03-10T00:00:01Z',
      used('2026-02-28T23:59:59.999Z'),
      used('2026-03-01T00:00:00.000Z'),
      used('2026-03-09T23:59:59.999Z'),
      used('2026-03-10T00:00:00.000Z'),
    );
    const { components, totalUsd } = await costOf(id);
    expect(totalUsd).toBe(4);
    expect(components.filter(({ unit }: { unit: string }) => unit === 'input_token')).toEqual([
      // Of two prices in one run, what a token cost on average.
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

  it('that are put in later don’t change what has ended, also where more is heard of it, until it is priced anew', async () => {
    await put(price('m', 1));
    const finishedAt = '2026-03-10T12:00:00Z';
    const { id } = await run(finishedAt, { model: 'm', input: 1_000_000 }, { model: 'free', input: 1_000_000 });
    await put(price('m', 5), price('free', 7));
    const of = { jobId: id, organizationId: tenant.organizationId, finishedAt };
    await report(harness.db, of, [{ model: 'm', input: 1_000_000 }], 10);
    await settle(harness.db, id);
    expect((await costOf(id)).totalUsd).toBe(2);

    const theirs = await harness.makeTenant();
    const other = await endRun(harness.db, { organizationId: theirs.organizationId, finishedAt, said: 5 });
    const asked = await tenant.as.admin.post(`${path}/recompute`, { from: '2026-03-10', to: '2026-03-10' });
    expect([asked.status, asked.body.status]).toEqual([202, 'running']);
    await recompute(asked.body.recomputeId);
    expect((await costOf(id)).totalUsd).toBe(17);
    const done = await tenant.as.viewer.get(asked.headers.get('location')!);
    expect(done.body).toMatchObject({ status: 'done', runs: 1, changed: 1 });
    // A second message does nothing more.
    await recompute(asked.body.recomputeId);
    expect((await tenant.as.viewer.get(asked.headers.get('location')!)).body).toEqual(done.body);
    expect((await theirs.as.viewer.get(`/api/jobs/${other.id}/cost`)).body.totalUsd).toBe(0.000005);
    const usage = (await tenant.as.viewer.get('/api/usage?month=2026-03')).body;
    expect(usage.spendUsd).toBe(17);
    const [entry] = (await tenant.as.admin.get('/api/audit?limit=1')).body.entries;
    expect(entry).toMatchObject({
      action: 'model_prices.recompute',
      changes: { from: '2026-03-10', to: '2026-03-10' },
    });
  });

  it('are applied anew to the runs of those days in the organization’s time zone, and to no others', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'America/Chicago' });
    const used = { model: 'm', input: 1_000_000, at: '2026-03-10T00:00:00Z' };
    const before = await run('2026-03-10T04:59:59Z', used);
    const first = await run('2026-03-10T05:00:00Z', used);
    const last = await run('2026-03-11T04:59:59Z', used);
    const after = await run('2026-03-11T05:00:00Z', used);
    await put(price('m', 1));
    const { body } = await tenant.as.admin.post(`${path}/recompute`, { from: '2026-03-10', to: '2026-03-10' });
    await recompute(body.recomputeId);
    const totals = await Promise.all([before, first, last, after].map(async ({ id }) => (await costOf(id)).totalUsd));
    expect(totals).toEqual([0, 1, 1, 0]);
  });

  it.each([
    { from: '2026-03-10', to: '2026-03-09' },
    { from: '2020-01-01', to: '2026-01-01' },
    { from: '2026-02-30', to: '2026-03-01' },
    { from: '2026-03-01' },
  ])('are not applied anew to %j', async (body) => {
    expect((await tenant.as.admin.post(`${path}/recompute`, body)).status).toBe(400);
  });

  it('have defaults that a super_admin replaces, also by none', async () => {
    const admin = '/api/admin/model-prices';
    const shipped = (await tenant.as.super_admin.get(admin)).body.prices;
    const replaced = await tenant.as.super_admin.put(admin, { prices: [price('m', 3)] });
    expect(replaced.body.prices).toEqual([{ ...price('m', 3), source: 'default' }]);
    const { id } = await run(
      '2026-03-10T12:00:00Z',
      { model: 'm', input: 1_000_000 },
      { provider: 'openai', model: 'gpt-4.1', input: 1 },
    );
    expect((await costOf(id)).totalUsd).toBe(3);
    await tenant.as.super_admin.put(admin, { prices: [] });
    expect((await tenant.as.viewer.get(path)).body.prices).toEqual([]);
    expect((await tenant.as.admin.put(admin, { prices: [] })).status).toBe(403);
    const again = shipped.map(({ source: _, ...each }: { source: string }) => each);
    expect((await tenant.as.super_admin.put(admin, { prices: again })).body.prices).toEqual(shipped);
  });
});
