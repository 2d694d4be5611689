import { AppError } from '@muster/contracts';
import { getBillingMonth } from '@muster/pricing';
import { makeOrganization } from '@muster/testing';
import { bookJobCost } from '../ends/book-job-cost';
import { finishJob } from '../ends/finish-job';
import { launchBatch } from '../batches/launch-batch';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { replayJob } from './replay-job';

describe('A month’s limits', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  /** Deletes all jobs and all usage, and sets the monthly limits of runs and of spend. */
  const limitTo = async ({ runs = null, usd = null }: { runs?: number | null; usd?: number | null }) => {
    await fixture.query('DELETE FROM job');
    await fixture.query('DELETE FROM usage_event');
    await fixture.query('DELETE FROM usage_counter');
    await fixture.query('UPDATE workflow SET max_cost_micros = NULL');
    await fixture.query('UPDATE agent SET current_job_id = NULL');
    await fixture.query('UPDATE organization_settings SET monthly_run_limit = $1, monthly_spend_limit_micros = $2', [
      runs,
      usd === null ? null : usd * 1_000_000,
    ]);
  };
  const outcomes = async (launches: Promise<unknown>[]) => {
    const results = await Promise.allSettled(launches);
    const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    for (const reason of refused) {
      if (!(reason instanceof AppError) || reason.code !== 'billing_gate_closed') throw reason;
    }
    return { launched: results.length - refused.length, refused: refused.length };
  };
  const many = (count: number, body = {}) => outcomes(Array.from({ length: count }, () => fixture.launch(body)));
  const end = (jobId: string, to: 'completed' | 'failed' | 'cancelled', input = {}) =>
    fixture.harness.db.transaction('system', (tx) =>
      finishJob(tx, {
        organizationId: fixture.organizationId,
        jobId,
        source: 'watchdog',
        ...(to === 'failed' ? { to, errorCode: 'script_failed' } : { to }),
        ...input,
      }),
    );
  const bookCost = (jobId: string) => fixture.harness.db.transaction('system', (tx) => bookJobCost(tx, jobId));
  const reserved = async () =>
    (await fixture.query<{ sum: number }>('SELECT COALESCE(sum(reserved_micros), 0)::bigint AS sum FROM job'))[0]!.sum;
  const batch = (rows: number, input = {}) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      launchBatch(tx, fixture.caller, {
        input: { workflowId: fixture.workflowId, agentIds: [fixture.agentId], ...input },
        rows: Array.from({ length: rows }, (_, at) => ({ row: at + 1, cells: new Map(), errors: [] })),
        now: new Date(),
      }),
    );

  it('exactly one of 200 concurrent launches succeeds if one run of the monthly limit is left', async () => {
    await limitTo({ runs: 3 });
    await fixture.launch();
    await fixture.launch();
    expect(await many(200)).toEqual({ launched: 1, refused: 199 });
  });

  it('the monthly run limit counts an ended run once, before and after the usage counter includes it', async () => {
    await limitTo({ runs: 2 });
    const jobId = await fixture.launch();
    await end(jobId, 'completed');
    const inCounter = async () => (await fixture.query('SELECT runs FROM usage_counter'))[0]?.runs ?? 0;
    expect(await inCounter()).toBe(0);
    expect(await many(2)).toEqual({ launched: 1, refused: 1 });
    await Promise.all([bookCost(jobId), bookCost(jobId)]);
    expect(await inCounter()).toBe(1);
    expect(await many(2)).toEqual({ launched: 0, refused: 2 });
    await limitTo({ runs: 3 });
    for (let run = 0; run < 2; run += 1) await end(await fixture.launch(), 'failed');
    expect(await many(5)).toEqual({ launched: 1, refused: 4 });
  });

  it('concurrent launches and batches use a monthly run limit almost completely and never exceed it', async () => {
    await limitTo({ runs: 700 });
    const [single, batches] = await Promise.all([many(250), outcomes(Array.from({ length: 6 }, () => batch(90)))]);
    const total = single.launched + 90 * batches.launched;
    expect(await fixture.query('SELECT count(*)::int AS jobs FROM job')).toEqual([{ jobs: total }]);
    expect(total).toBeLessThanOrEqual(700);
    expect(total).toBeGreaterThan(700 - 90);
  });

  it('the budgets of concurrent launches can use a spend limit up to the last micro-dollar, and no more', async () => {
    await limitTo({ usd: 10 });
    expect(await many(50, { maxCostUsd: 2.5 })).toEqual({ launched: 4, refused: 46 });
    await expect(fixture.launch({ maxCostUsd: 0.000001 })).rejects.toThrow(
      'The run can cost 0.000001 USD, and the monthly limit of 10 USD leaves 0: the rest is spent or reserved for ' +
        'open runs.',
    );
    expect(await reserved()).toBe(10_000_000);
  });

  it('a launch with the smallest budget is rejected right after a launch that reserved the whole limit', async () => {
    await limitTo({ usd: 10 });
    await fixture.launch({ maxCostUsd: 10 });
    await expect(fixture.launch({ maxCostUsd: 0.000001 })).rejects.toThrow(/leaves 0/);
  });

  it('a batch is rejected if its total budget exceeds what is left of the spend limit', async () => {
    await limitTo({ usd: 10 });
    await expect(batch(5, { maxCostUsd: 2.000001 })).rejects.toThrow(/The batch can cost 10.000005 USD/);
    expect(await reserved()).toBe(0);
    expect((await batch(5, { maxCostUsd: 2 })).queued).toBe(5);
  });

  it('a run’s unspent budget is released when its cost is booked, however the run ended', async () => {
    await limitTo({ usd: 10 });
    for (const to of ['completed', 'failed', 'cancelled'] as const) {
      const jobId = await fixture.launch({ maxCostUsd: 10 });
      await expect(fixture.launch({ maxCostUsd: 1 })).rejects.toThrow(/leaves 0/);
      await end(jobId, to);
      await expect(fixture.launch({ maxCostUsd: 1 })).rejects.toThrow(/leaves 0/);
      await bookCost(jobId);
      expect(await reserved()).toBe(0);
    }
    const deleted = await fixture.launch({ maxCostUsd: 10 });
    await fixture.query('DELETE FROM job WHERE id = $1', [deleted]);
    await fixture.launch({ maxCostUsd: 10 });
  });

  it('the booked cost of a run reduces what is left of the spend limit', async () => {
    await limitTo({ usd: 10 });
    const jobId = await fixture.launch({ maxCostUsd: 10 });
    await end(jobId, 'completed', { totalCostUsd: 4 });
    await bookCost(jobId);
    await expect(fixture.launch({ maxCostUsd: 6.000001 })).rejects.toThrow(/leaves 6:/);
    await fixture.launch({ maxCostUsd: 6 });
  });

  it('a lowered monthly limit applies from the next launch on', async () => {
    await limitTo({ runs: 1_000_000, usd: 1_000_000 });
    for (let launched = 0; launched < 3; launched += 1) await fixture.launch({ maxCostUsd: 1 });
    await fixture.query('UPDATE organization_settings SET monthly_run_limit = 4');
    expect(await many(10, { maxCostUsd: 1 })).toEqual({ launched: 1, refused: 9 });
    await fixture.query(
      'UPDATE organization_settings SET monthly_run_limit = NULL, monthly_spend_limit_micros = 6000000',
    );
    expect(await many(10, { maxCostUsd: 1 })).toEqual({ launched: 2, refused: 8 });
  });

  it('the monthly run limit counts a running job like a queued one', async () => {
    await limitTo({ runs: 3 });
    const jobId = await fixture.launch();
    await fixture.query("UPDATE job SET status = 'running', started_at = now() WHERE id = $1", [jobId]);
    expect(await many(3)).toEqual({ launched: 2, refused: 1 });
  });

  it('runs of another organization do not count when a queued run starts', async () => {
    await limitTo({ runs: 1 });
    const jobId = await fixture.launch();
    const { id: other } = await makeOrganization(fixture.harness.db);
    await fixture.query(
      `INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, counted)
       SELECT gen_random_uuid(), 'run', $1, $2, 'completed', false FROM generate_series(1, 2)`,
      [other, getBillingMonth(new Date())],
    );
    expect(await fixture.dispatch.startNextJob(fixture.agentId)).toMatchObject({ action: 'start', jobId });
  });

  it('the monthly limits apply to replays', async () => {
    await limitTo({ runs: 2 });
    const jobId = await fixture.launch({ maxCostUsd: 1 });
    await end(jobId, 'completed');
    const replay = () =>
      fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
        replayJob(tx, fixture.caller, jobId, new Date()),
      );
    expect(await outcomes(Array.from({ length: 5 }, replay))).toEqual({ launched: 1, refused: 4 });
    const rows = await fixture.query('SELECT max_cost_micros, reserved_micros FROM job WHERE id <> $1', [jobId]);
    expect(rows).toHaveLength(1);
    expect(Object.values(rows[0])).toEqual([1_000_000, 1_000_000]);
  });

  it('a failed run is not retried if no run of the limit is left, and its timeline entry states why', async () => {
    await limitTo({ runs: 2 });
    const first = await fixture.launch({ maxRetries: 5 });
    expect(await end(first, 'failed')).toMatchObject({ retried: true });
    const [second] = await fixture.query<{ id: string }>('SELECT id FROM job WHERE retry_of = $1', [first]);
    expect(await end(second!.id, 'failed')).toMatchObject({ retried: false });
    const [entry] = await fixture.query<{ data: { notRetried?: string } }>(
      `SELECT data FROM timeline_entry WHERE job_id = $1 ORDER BY seq DESC LIMIT 1`,
      [second!.id],
    );
    expect(entry!.data.notRetried).toContain("the month's limit of 2 runs is used up");
  });

  it('a retry can spend what the attempt before it left of the spend limit, and no more', async () => {
    await limitTo({ usd: 10 });
    const first = await fixture.launch({ maxCostUsd: 6, maxRetries: 2 });
    expect(await end(first, 'failed', { totalCostUsd: 4 })).toMatchObject({ retried: true });
    expect(await reserved()).toBe(10_000_000);
    await expect(fixture.launch({ maxCostUsd: 0.000001 })).rejects.toThrow(/leaves 0/);
    await bookCost(first);
    expect(await reserved()).toBe(6_000_000);
    const [second] = await fixture.query<{ id: string }>('SELECT id FROM job WHERE retry_of = $1', [first]);
    expect(await end(second!.id, 'failed', { totalCostUsd: 0.000001 })).toMatchObject({ retried: false });
    await bookCost(second!.id);
    expect(await reserved()).toBe(0);
  });

  it.each([
    ['the launch’s', { launch: 1, workflow: 2 }, 1_000_000],
    ['the workflow’s', { launch: 3, workflow: 2 }, 2_000_000],
    ['the workflow’s, because the launch has none', { workflow: 0.5 }, 500_000],
    ['none', {}, null],
  ])('the budget of a job is the smallest one, here %s', async (_, { launch, workflow }: any, expected) => {
    await limitTo({});
    await fixture.query('UPDATE workflow SET max_cost_micros = $1', [
      workflow === undefined ? null : workflow * 1_000_000,
    ]);
    const jobId = await fixture.launch(launch === undefined ? {} : { maxCostUsd: launch });
    const [row] = await fixture.query<{ budget: number | null }>(
      'SELECT max_cost_micros AS budget FROM job WHERE id = $1',
      [jobId],
    );
    expect(row!.budget).toBe(expected);
  });
});
