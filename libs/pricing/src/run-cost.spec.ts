import { BaseConfig } from '@muster/platform';
import { DatabaseModule } from '@muster/database';
import { type Harness, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { unequalCounters } from './reconcile-usage';
import { recordRuns } from './record-usage';
import { costOf, settleRunCost } from './run-cost';

describe('a run’s cost', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const query = <T extends object>(sql: string, values: unknown[]) =>
    harness.db.query<T & object>('system', sql, values);

  async function endedRun(reportedUsd: number | null = null) {
    const { id: organizationId } = await makeOrganization(harness.db);
    const finishedAt = new Date('2026-03-31T23:59:59.000Z');
    const { id } = await makeJob(harness.db, {
      organizationId,
      status: 'completed',
      startedAt: new Date(finishedAt.getTime() - 1_800_000),
      finishedAt,
      totalCostUsd: reportedUsd,
    });
    await harness.db.transaction('system', async (tx) =>
      recordRuns(tx, organizationId, [{ jobId: id, outcome: 'completed', runSeconds: 1800, finishedAt }]),
    );
    return { jobId: id, organizationId };
  }
  const spend = (jobId: string, seq: number, usd: number) =>
    query(
      `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, cost_usd)
       SELECT id, 1, $2, organization_id, 'openai', 'm', $3 FROM job WHERE id = $1`,
      [jobId, seq, usd],
    );
  const settle = (jobId: string) => harness.db.transaction('system', (tx) => settleRunCost(tx, jobId));
  const totalOf = async (jobId: string) =>
    (await query<{ total: number }>('SELECT total_cost_usd AS total FROM job WHERE id = $1', [jobId]))[0]!.total;

  it('is its share of the machine and its AI calls, or what its worker says where that is more', () => {
    const facts = { runSeconds: 1800, hourlyComputeUsd: 0.12, aiUsd: 0.5 };
    expect(costOf({ ...facts, reportedUsd: null })).toMatchObject({ computeUsd: 0.06, totalUsd: 0.56 });
    expect(costOf({ ...facts, reportedUsd: 2 }).totalUsd).toBe(2);
    expect(costOf({ ...facts, reportedUsd: 0.1 }).totalUsd).toBe(0.56);
  });

  it('is booked once, in the month in which the run ended, however often it is settled', async () => {
    const { jobId, organizationId } = await endedRun();
    await spend(jobId, 1, 0.5);
    await Promise.all([settle(jobId), settle(jobId), settle(jobId)]);
    expect(await totalOf(jobId)).toBeCloseTo(0.56);
    const counters = await query(
      "SELECT to_char(month, 'YYYY-MM') AS month, runs, spend_usd FROM usage_counter WHERE organization_id = $1",
      [organizationId],
    );
    expect(counters).toEqual([{ month: '2026-03', runs: 1, spend_usd: expect.closeTo(0.56) }]);
    expect(await unequalCounters(harness.db)).toEqual([]);
  });

  it('is corrected by a row of its own when a late report adds to it', async () => {
    const { jobId } = await endedRun(0.01);
    await settle(jobId);
    await spend(jobId, 1, 0.25);
    await settle(jobId);
    expect(await totalOf(jobId)).toBeCloseTo(0.31);
    const events = await query<{ spend_usd: number }>(
      `SELECT spend_usd FROM usage_event WHERE job_id = $1 AND kind = 'spend' ORDER BY revision`,
      [jobId],
    );
    expect(events.map(({ spend_usd }) => spend_usd)).toEqual([expect.closeTo(0.06), expect.closeTo(0.25)]);
    expect(await unequalCounters(harness.db)).toEqual([]);
  });

  it('of a run that has not ended is nothing yet', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id } = await makeJob(harness.db, { organizationId, status: 'running' });
    expect(await settle(id)).toBe(false);
  });

  it('is seen when a counter is not the sum of its events', async () => {
    const { organizationId } = await endedRun();
    await query('UPDATE usage_counter SET runs = runs + 1 WHERE organization_id = $1', [organizationId]);
    expect(await unequalCounters(harness.db)).toEqual([{ organizationId, month: '2026-03', counted: 2, events: 1 }]);
  });
});
