import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { readSpendMetrics } from './measure-spend';

describe('the usage of all organizations in this month', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const querySql = (text: string, ...values: unknown[]) => harness.db.query('system', text, values);

  it('this month’s counters are summed, and closed gates and late events are counted', async () => {
    const now = new Date();
    const month = now.toISOString().slice(0, 7);
    const organizationIds: string[] = [];
    for (const [limits, runs, spendMicros, monthAgo] of [
      ['monthly_run_limit = 5', 5, 0, 0],
      ['monthly_run_limit = 5', 4, 100, 0],
      ['monthly_spend_limit_micros = 1000000', 0, 1_000_000, 0],
      ['monthly_run_limit = NULL', 7, 0, 0],
      // Runs of last month are not counted.
      ['monthly_run_limit = 5', 9, 9, 1],
    ] as const) {
      const { id } = await makeOrganization(harness.db);
      organizationIds.push(id);
      await querySql(`UPDATE organization_settings SET ${limits} WHERE organization_id = $1`, id);
      await querySql(
        `INSERT INTO usage_counter (organization_id, month, runs, completed, run_ms, spend_micros)
         VALUES ($1, $2::date - make_interval(months => $3), $4, $4, 1000, $5)`,
        ...[id, `${month}-01`, monthAgo, runs, spendMicros],
      );
    }
    const [suspended] = organizationIds as [string];
    await querySql('UPDATE organization SET suspended = true WHERE id = $1', suspended);
    for (const [counted, minutes] of [
      [false, 6],
      [false, 4],
      [true, 6],
    ] as const) {
      await querySql(
        `INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_ms, at, counted)
         VALUES ($1, 'run', $2, $3, 'completed', 1, muster_now() - make_interval(mins => $4), $5)`,
        ...[newId(), suspended, `${month}-01`, minutes, counted],
      );
    }
    expect(await readSpendMetrics(harness.db, now)).toEqual({
      runs: { completed: 16, failed: 0, cancelled: 0 },
      runMs: 4000,
      spendMicros: 1_000_100,
      gatesClosed: { suspended: 1, limit: 1 },
      unmetered: 1,
    });
  });
});
