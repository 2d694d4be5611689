import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('savings of adaptive idle stop', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, { organizationId: tenant.organizationId, name: 'Front desk 1' })).id;
  });

  const insertIdlePeriod = (
    id: string,
    daysAgo: number,
    row: { policy: string; savedMs: number | null; onMs: number | null },
  ) =>
    harness.db.query(
      'system',
      `INSERT INTO agent_idle (agent_id, organization_id, began_at, ended_at, on_ms, policy, saved_ms, saved_micros)
       SELECT id, organization_id, now() - $2 * interval '1 day' - interval '4 hours', now() - $2 * interval '1 day', $3,
              $4, $5::bigint, round($5::bigint * 120000 / 3600000.0) FROM agent WHERE id = $1`,
      [id, daysAgo, row.onMs, row.policy, row.savedMs],
    );
  const hour = 3_600_000;

  it('an agent’s savings of the last 30 days are grouped by the idle-stop policy that was in effect', async () => {
    await insertIdlePeriod(agentId, 1, { policy: 'fixed', onMs: hour, savedMs: hour / 2 });
    await insertIdlePeriod(agentId, 2, { policy: 'fixed', onMs: hour, savedMs: -hour / 4 });
    await insertIdlePeriod(agentId, 3, { policy: 'adaptive', onMs: hour / 4, savedMs: hour });
    await insertIdlePeriod(agentId, 4, { policy: 'fixed', onMs: null, savedMs: null });
    await insertIdlePeriod(agentId, 31, { policy: 'fixed', onMs: hour, savedMs: hour });
    const other = await makeAgent(harness.db, { organizationId: tenant.organizationId, name: 'Front desk 2' });
    await insertIdlePeriod(other.id, 1, { policy: 'fixed', onMs: hour, savedMs: hour });
    const { status, body } = await tenant.as.viewer.get(`/api/agents/${agentId}/savings`);
    expect([status, body]).toEqual([
      200,
      {
        policy: 'fixed',
        idleHours: 12,
        onHours: 2.25,
        adaptiveWouldSave: { hours: 0.25, usd: 0.03 },
        adaptiveSaved: { hours: 1, usd: 0.12 },
      },
    ]);
  });

  it('an organization’s idle-stop savings are shown with its costs, but are not part of their total', async () => {
    await insertIdlePeriod(agentId, 1, { policy: 'fixed', onMs: hour, savedMs: hour / 2 });
    await insertIdlePeriod(agentId, 6, { policy: 'fixed', onMs: hour, savedMs: hour / 2 });
    await tenant.as.admin.patch('/api/organization/settings', { idleStopPolicy: 'adaptive' });
    const formatDayAgo = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const readCosts = async (from: string, to: string) =>
      (await tenant.as.viewer.get(`/api/costs?from=${from}&to=${to}`)).body;
    expect(await readCosts(formatDayAgo(2), formatDayAgo(0))).toMatchObject({
      totalUsd: 0,
      idle: {
        policy: 'adaptive',
        idleHours: 4,
        onHours: 1,
        adaptiveWouldSave: { hours: 0.5, usd: 0.06 },
        adaptiveSaved: { hours: 0, usd: 0 },
      },
    });
    expect((await readCosts(formatDayAgo(7), formatDayAgo(5))).idle.adaptiveWouldSave.hours).toBe(0.5);
    expect((await readCosts(formatDayAgo(29), formatDayAgo(0))).idle.adaptiveWouldSave.hours).toBe(1);
    expect((await readCosts(formatDayAgo(60), formatDayAgo(50))).idle).toMatchObject({ idleHours: 0, onHours: 0 });
  });

  it('idle-stop savings are hidden from other organizations', async () => {
    await insertIdlePeriod(agentId, 1, { policy: 'fixed', onMs: hour, savedMs: hour });
    const otherTenant = await harness.makeTenant();
    const { status, body } = await otherTenant.as.viewer.get(`/api/agents/${agentId}/savings`);
    expect([status, body.code]).toEqual([404, 'agent_not_found']);
    expect((await otherTenant.as.viewer.get('/api/costs')).body.idle.idleHours).toBe(0);
  });
});
