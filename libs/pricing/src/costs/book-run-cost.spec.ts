import { BaseConfig } from '@muster/platform';
import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { runBehindLock, type Harness, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { findUnequalCounters } from '../usage/find-unequal-counters';
import { recordRunUsage } from '../usage/record-usage';
import { bookRunCost } from './book-run-cost';
import { refreshCostDays } from './refresh-cost-days';
import { rebuildCostDays } from './verify-cost-days';

describe('booking the cost of a run', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const querySql = <T extends object>(sql: string, values: unknown[]) =>
    harness.db.query<T & object>('system', sql, values);

  async function insertEndedRun(reportedCostMicros: number | null = null) {
    const { id: organizationId } = await makeOrganization(harness.db);
    const finishedAt = new Date('2026-03-31T23:59:59.000Z');
    const startedAt = new Date(finishedAt.getTime() - 1_800_000);
    const { id } = await makeJob(harness.db, {
      organizationId,
      status: 'completed',
      startedAt,
      finishedAt,
      reportedCostMicros,
      totalCostMicros: reportedCostMicros,
    });
    await harness.db.transaction('system', async (tx) =>
      recordRunUsage(tx, organizationId, [{ jobId: id, outcome: 'completed', startedAt, finishedAt }]),
    );
    return { jobId: id, organizationId };
  }
  const insertAiUsage = (jobId: string, seq: number, micros: number) =>
    querySql(
      `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, cost_micros)
       SELECT id, 1, $2, organization_id, 'openai', 'm', $3 FROM job WHERE id = $1`,
      [jobId, seq, micros],
    );
  const bookCost = (jobId: string) => harness.db.transaction('system', (tx) => bookRunCost(tx, jobId));
  const totalOf = async (jobId: string) =>
    (await querySql<{ total: number }>('SELECT total_micros AS total FROM run_cost WHERE job_id = $1', [jobId]))[0]!
      .total;

  it('a run’s cost is booked once, in the month in which the run ended, however often it is computed', async () => {
    const { jobId, organizationId } = await insertEndedRun();
    await insertAiUsage(jobId, 1, 500_000);
    await Promise.all([bookCost(jobId), bookCost(jobId), bookCost(jobId)]);
    expect(await totalOf(jobId)).toBe(560_000);
    const counters = await querySql(
      "SELECT to_char(month, 'YYYY-MM') AS month, runs, run_ms, spend_micros FROM usage_counter WHERE organization_id = $1",
      [organizationId],
    );
    expect(counters).toEqual([{ month: '2026-03', runs: 1, runMs: 1_800_000, spendMicros: 560_000 }]);
    expect(await findUnequalCounters(harness.db)).toEqual([]);
  });

  it('the cost of a run contains usage that is stored while the booking waits for the run’s row', async () => {
    const { jobId } = await insertEndedRun();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      () => [bookCost(jobId)],
      (tx) =>
        tx.execute(
          `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, cost_micros)
           SELECT id, 1, 1, organization_id, 'openai', 'm', 500000 FROM job WHERE id = $1`,
          [jobId],
        ),
    );
    expect(await totalOf(jobId)).toBe(560_000);
    expect(await findUnequalCounters(harness.db)).toEqual([]);
  });

  it('a late report corrects a booked cost by a separate usage event', async () => {
    const { jobId } = await insertEndedRun(10_000);
    await bookCost(jobId);
    await insertAiUsage(jobId, 1, 250_000);
    await bookCost(jobId);
    expect(await totalOf(jobId)).toBe(310_000);
    const events = await querySql<{ spend: number }>(
      `SELECT spend_micros AS spend FROM usage_event WHERE job_id = $1 AND kind = 'spend' ORDER BY revision`,
      [jobId],
    );
    expect(events.map((event) => event.spend)).toEqual([60_000, 250_000]);
    expect(await findUnequalCounters(harness.db)).toEqual([]);
  });

  it('a run’s cost has a component for the part of its reported cost that exceeds the other components', async () => {
    const { jobId } = await insertEndedRun(2_000_000);
    await bookCost(jobId);
    await insertAiUsage(jobId, 1, 250_000);
    await bookCost(jobId);
    expect(await totalOf(jobId)).toBe(2_000_000);
    const parts = await querySql<{ kind: string; amount: number }>(
      'SELECT kind, sum(amount_micros)::bigint AS amount FROM run_cost_component WHERE job_id = $1 GROUP BY 1 ORDER BY 1',
      [jobId],
    );
    expect(parts).toEqual([
      { kind: 'ai', amount: 250_000 },
      { kind: 'compute', amount: 60_000 },
      { kind: 'reported', amount: 1_690_000 },
    ]);
  });

  it('a total cost above Number.MAX_SAFE_INTEGER is stored and read exactly', async () => {
    const { jobId } = await insertEndedRun();
    const max = Number.MAX_SAFE_INTEGER;
    await insertAiUsage(jobId, 1, max);
    await insertAiUsage(jobId, 2, max);
    await bookCost(jobId);
    expect(await totalOf(jobId)).toBe(2n * BigInt(max) + 60_000n);
  });

  it('bookRunCost returns null for a run that has not ended', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id } = await makeJob(harness.db, { organizationId, status: 'running' });
    expect(await bookCost(id)).toBeNull();
  });

  it('findUnequalCounters lists a counter that is not the sum of its events', async () => {
    const { organizationId, jobId } = await insertEndedRun();
    await bookCost(jobId);
    await querySql('UPDATE usage_counter SET runs = runs + 1 WHERE organization_id = $1', [organizationId]);
    expect(await findUnequalCounters(harness.db)).toMatchObject([
      { organizationId, month: '2026-03', counted: { runs: 2 }, events: { runs: 1, runMs: 1_800_000 } },
    ]);
  });

  it('two concurrent refreshes of an organization’s cost rollups recompute each day once', async () => {
    const { jobId, organizationId } = await insertEndedRun();
    await bookCost(jobId);
    const refreshDays = () => refreshCostDays(harness.db, organizationId);
    const refreshed = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'run_cost_day', organizationId),
      () => [refreshDays(), refreshDays()],
    );
    expect(refreshed.map(({ days }) => days).sort()).toEqual([0, 1]);
  });

  it('the cost rollups are rebuilt after a concurrent refresh has ended', async () => {
    const { jobId, organizationId } = await insertEndedRun();
    await bookCost(jobId);
    await refreshCostDays(harness.db, organizationId);
    const [rebuilt] = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'run_cost_day', organizationId),
      () => [rebuildCostDays(harness.db, organizationId)],
      async (tx) => {
        const days = await tx.query('SELECT FROM run_cost_day WHERE organization_id = $1', [organizationId]);
        expect(days.length).toBeGreaterThan(0);
      },
    );
    expect(rebuilt).toEqual({ days: 1 });
  });
});
