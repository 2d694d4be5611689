import { reconcileUsageNightly, recordRunUsage } from '@muster/pricing';
import { newId } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('usage across organizations', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Northside Dental');
    const { organizationId } = tenant;
    const buildTime = (time: string) => new Date(`2026-03-10T${time}Z`);
    await harness.db.transaction('system', async (tx) =>
      recordRunUsage(tx, organizationId, [
        { jobId: newId(), outcome: 'completed', startedAt: buildTime('10:00:00'), finishedAt: buildTime('10:30:00') },
        { jobId: newId(), outcome: 'failed', startedAt: null, finishedAt: buildTime('11:00:00') },
      ]),
    );
  });
  afterAll(() => harness.close());

  const reconcileUsage = async () => (await tenant.as.super_admin.post('/api/admin/usage/reconcile')).body;
  const readDifferencesMetric = async () =>
    /^muster_usage_differences (\d+)$/m.exec(await harness.app.metrics.registry.metrics())?.[1];
  const figures = { runs: 2, completed: 1, failed: 1, cancelled: 0, runMinutes: 30, spendUsd: 0 };

  it('usage of all organizations is listed by month, page by page, and only to super_admins', async () => {
    await harness.makeTenant();
    const first = (await tenant.as.super_admin.get('/api/admin/usage?month=2026-03&limit=1')).body;
    expect(first).toMatchObject({ month: '2026-03', differing: 0, usage: [expect.anything()] });
    const second = await tenant.as.super_admin.get(`/api/admin/usage?month=2026-03&limit=1&cursor=${first.nextCursor}`);
    expect([...first.usage, ...second.body.usage]).toContainEqual({
      organizationId: tenant.organizationId,
      name: 'Northside Dental',
      ...figures,
    });
    for (const client of [tenant.as.admin, tenant.api]) {
      expect((await client.get('/api/admin/usage')).status).toBe(403);
      expect((await client.post('/api/admin/usage/reconcile')).status).toBe(403);
    }
  });

  it('the usage of a month is the same before and after its ended runs are added to the usage counter', async () => {
    const readUsage = async () => {
      const { usage } = (await tenant.as.super_admin.get('/api/admin/usage?month=2026-03')).body;
      return [
        usage.find((row: any) => row.organizationId === tenant.organizationId),
        (await tenant.api.get('/api/usage?month=2026-03')).body,
      ];
    };
    const before = await readUsage();
    expect(before[1]).toMatchObject({ runs: 2, completed: 1, failed: 1, cancelled: 0, runMinutes: 30 });
    expect(await reconcileUsage()).toMatchObject({ differing: 0, differences: [] });
    await harness.db.query(
      'system',
      `WITH counted_events AS (UPDATE usage_event SET counted = true WHERE organization_id = $1 RETURNING *)
       INSERT INTO usage_counter (organization_id, month, runs, completed, failed, run_ms)
       SELECT organization_id, month, count(*), count(*) FILTER (WHERE outcome = 'completed'),
              count(*) FILTER (WHERE outcome = 'failed'), sum(run_ms) FROM counted_events GROUP BY 1, 2`,
      [tenant.organizationId],
    );
    expect(await readUsage()).toEqual(before);
  });

  it('a usage counter that differs from its usage events is reported, audited and shown in a metric', async () => {
    expect(await reconcileUsage()).toMatchObject({ differing: 0, differences: [] });
    expect(await readDifferencesMetric()).toBe('0');
    const { organizationId } = tenant;
    await harness.db.query('system', 'UPDATE usage_counter SET runs = 7, spend_micros = 1 WHERE organization_id = $1', [
      organizationId,
    ]);
    const difference = {
      organizationId,
      month: '2026-03',
      counted: { ...figures, runs: 7, spendUsd: 0.000001 },
      events: figures,
    };
    const found = await reconcileUsage();
    expect(found).toMatchObject({ differing: 1, differences: [difference] });
    expect(await readDifferencesMetric()).toBe('1');
    expect((await tenant.as.super_admin.get('/api/admin/usage')).body).toMatchObject({
      reconciledAt: found.reconciledAt,
      differing: 1,
      differences: [difference],
    });
    const { entries } = (await tenant.as.admin.get('/api/audit?limit=2')).body;
    expect(entries).toMatchObject([
      { action: 'usage.reconcile', changes: { differing: 1 } },
      {
        action: 'usage.difference',
        actor: { kind: 'system' },
        target: { id: '2026-03' },
        changes: { counted: { runs: 7 } },
      },
    ]);
    expect((await reconcileUsage()).differing).toBe(1);
    await harness.db.query('system', 'UPDATE usage_counter SET runs = 2, spend_micros = 0');
    expect((await reconcileUsage()).differing).toBe(0);
  });

  it('usage is reconciled once a night in one process, and again if that process died', async () => {
    const night = new Date('2026-05-01T09:00:00Z');
    const addMinutesToNight = (minutes: number) => new Date(night.getTime() + minutes * 60_000);
    const several = await Promise.all(
      [1, 2, 3].map((minute) => reconcileUsageNightly(harness.db, addMinutesToNight(minute))),
    );
    expect(several.filter(Boolean)).toHaveLength(1);
    expect(await reconcileUsageNightly(harness.db, addMinutesToNight(24 * 60 - 1))).toBeNull();
    expect(await reconcileUsageNightly(harness.db, addMinutesToNight(24 * 60))).toMatchObject({ differing: 0 });
    await harness.db.query('system', `UPDATE usage_reconciliation SET finished_at = NULL WHERE night = '2026-05-02'`);
    expect(await reconcileUsageNightly(harness.db, addMinutesToNight(24 * 60 + 30))).toBeNull();
    expect(await reconcileUsageNightly(harness.db, addMinutesToNight(24 * 60 + 61))).not.toBeNull();
  });
});
