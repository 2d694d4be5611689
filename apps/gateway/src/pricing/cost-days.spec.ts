import { rebuildCostDays, refreshCostDays, verifyCostDays } from '@muster/pricing';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { endRun, insertUsage, bookCost } from './ended-runs.harness';

const groupings = ['day', 'workflow', 'agent', 'schedule', 'model'];

describe('costs from daily rollups', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'America/New_York' });
    for (let day = 1; day <= 20; day += 1) {
      const finishedAt = `2026-03-${String(day).padStart(2, '0')}T0${day % 9}:30:00Z`;
      const { organizationId } = tenant;
      const used = [
        { model: 'A', reportedMicros: day },
        { model: 'b', reportedMicros: 7 },
      ].slice(day % 3);
      const { id } = await endRun(harness.db, { organizationId, finishedAt, ms: day * 90_000, used });
      ids.push(id);
    }
  });
  afterEach(() => void ids.splice(0));
  afterAll(() => harness.close());

  const ids: string[] = [];
  const readCostsByGrouping = async () => {
    const answers = groupings.map(async (groupBy) => {
      const { body } = await tenant.as.viewer.get(`/api/costs?from=2026-03-02&to=2026-03-18&groupBy=${groupBy}`);
      return body;
    });
    return Promise.all(answers);
  };
  const refreshRollups = async () => {
    while ((await refreshCostDays(harness.db, tenant.organizationId)).hasMore);
  };
  const countRows = async (table: string) => {
    const sql = `SELECT count(*)::int AS count FROM ${table} WHERE organization_id = $1`;
    const [row] = await harness.db.query<{ count: number }>('system', sql, [tenant.organizationId]);
    return row!.count;
  };

  it('costs from daily rollups equal the costs of the runs in every group', async () => {
    const before = await readCostsByGrouping();
    expect(before[0].groups).toHaveLength(15);
    await refreshRollups();
    expect([(await countRows('run_cost_day')) > 0, await countRows('run_cost_change')]).toEqual([true, 0]);
    expect(await readCostsByGrouping()).toEqual(before);
    // Without the runs’ components, the costs can be read only from the rollups.
    await harness.db.query('system', 'DELETE FROM run_cost_component WHERE organization_id = $1', [
      tenant.organizationId,
    ]);
    expect(await readCostsByGrouping()).toEqual(before);
  });

  it('costs include a late report of a run at once, and also after the rollups are refreshed', async () => {
    await refreshRollups();
    const [before] = await readCostsByGrouping();
    const run = { jobId: ids[9]!, organizationId: tenant.organizationId, finishedAt: '2026-03-10T01:30:00Z' };
    await insertUsage(harness.db, run, [{ model: 'm', reportedMicros: 5_000_000 }], 10);
    await bookCost(harness.db, ids[9]!);
    const late = await readCostsByGrouping();
    expect(late[0].totalUsd).toBeGreaterThan(before.totalUsd + 4);
    expect(await countRows('run_cost_change')).toBeGreaterThan(0);
    await refreshRollups();
    expect(await readCostsByGrouping()).toEqual(late);
  });

  it('costs of a whole month are read from the monthly rollup until a run of the month reports late', async () => {
    const readYearCosts = async (from = '2026-01-01') => {
      const answers = groupings.map((groupBy) =>
        tenant.as.viewer.get(`/api/costs?from=${from}&to=2026-08-31&groupBy=${groupBy}`),
      );
      return (await Promise.all(answers)).map(({ body }) => body.groups);
    };
    const { organizationId } = tenant;
    const spent = {
      organizationId,
      finishedAt: '2026-04-01T02:00:00Z',
      ms: 60_000,
      used: [{ model: 'A', reportedMicros: 3 }],
    };
    const last = await endRun(harness.db, spent);
    const [whole, half] = [await readYearCosts(), await readYearCosts('2026-03-05')];
    await refreshRollups();
    expect([await readYearCosts(), await readYearCosts('2026-03-05')]).toEqual([whole, half]);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual([]);
    // Only totals of whole months are read from the monthly rollup, so only these totals contain this change.
    await harness.db.query(
      'system',
      `UPDATE run_cost_month SET ai_micros = ai_micros + 1000000 WHERE organization_id = $1 AND month = '2026-03-01'`,
      [organizationId],
    );
    const [byDay, ...others] = await readYearCosts();
    expect(byDay).toEqual(whole[0]);
    for (const [at, groups] of others.entries()) expect(groups).not.toEqual(whole[at + 1]);
    expect(await readYearCosts('2026-03-05')).toEqual(half);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual(['2026-03']);

    const run = { jobId: last.id, organizationId, finishedAt: '2026-04-01T02:00:00Z' };
    await insertUsage(harness.db, run, [{ model: 'm', reportedMicros: 5_000_000 }], 10);
    await bookCost(harness.db, last.id);
    const late = await readYearCosts();
    expect(late[1]).not.toEqual(whole[1]);
    await refreshRollups();
    expect(await readYearCosts()).toEqual(late);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual([]);
  });

  it('costs from daily rollups use the days of the organization’s current time zone', async () => {
    await refreshRollups();
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'Pacific/Auckland' });
    const inNewZone = await readCostsByGrouping();
    await refreshRollups();
    expect(await readCostsByGrouping()).toEqual(inNewZone);
  });

  it('daily cost rollups are verified against the runs day by day, and rebuilt if they differ', async () => {
    const { organizationId } = tenant;
    expect(await verifyCostDays(harness.db, organizationId)).toEqual([]);
    const before = await readCostsByGrouping();
    await harness.db.query(
      'system',
      `UPDATE run_cost_day SET ai_micros = ai_micros + 1
       WHERE organization_id = $1 AND grouped_by = 'workflow' AND day = '2026-03-06'`,
      [organizationId],
    );
    await harness.db.query('system', `DELETE FROM run_cost_day WHERE organization_id = $1 AND day = '2026-03-11'`, [
      organizationId,
    ]);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual(['2026-03-06', '2026-03-11', '2026-03']);
    expect((await rebuildCostDays(harness.db, organizationId)).days).toBeGreaterThan(15);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual([]);
    expect(await readCostsByGrouping()).toEqual(before);
  });
});
