import { bookJobCost } from '../ends/book-job-cost';
import { finishJob } from '../ends/finish-job';
import { launchBatch } from '../batches/launch-batch';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

describe('A month’s limit', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
    await fixture.query(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events)
       VALUES (gen_random_uuid(), $1, 'http://receiver.invalid/', '{limit.near,limit.reached}')`,
      [fixture.organizationId],
    );
  });
  afterAll(() => fixture.close());

  const limitTo = ({ runs = null, usd = null }: { runs?: number | null; usd?: number | null }) =>
    fixture.query('UPDATE organization_settings SET monthly_run_limit = $1, monthly_spend_limit_micros = $2', [
      runs,
      usd === null ? null : usd * 1_000_000,
    ]);
  beforeEach(async () => {
    const tables = ['job', 'usage_event', 'usage_counter', 'webhook_event', 'organization_event'];
    for (const table of tables) await fixture.query(`DELETE FROM ${table}`);
    await fixture.query('UPDATE agent SET current_job_id = NULL');
  });
  const launch = (count: number, body = {}) => Promise.all(Array.from({ length: count }, () => fixture.launch(body)));
  const end = async (jobId: string, totalCostUsd: number) => {
    const { organizationId } = fixture;
    await fixture.harness.db.transaction('system', (tx) =>
      finishJob(tx, { organizationId, jobId, to: 'completed', source: 'watchdog', totalCostUsd }),
    );
    await fixture.harness.db.transaction('system', (tx) => bookJobCost(tx, jobId));
  };
  const batch = (rows: number) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      launchBatch(tx, fixture.caller, {
        input: { workflowId: fixture.workflowId, agentIds: [fixture.agentId] },
        rows: Array.from({ length: rows }, (_, at) => ({ row: at + 1, cells: new Map(), errors: [] })),
        now: new Date(),
      }),
    );
  /**
   * Returns the limit notices for webhook endpoints and for the readers of the organization's stream. Notices with the
   * same time have no defined order.
   */
  const notices = async () => ({
    endpoints: (
      await fixture.query<{ notice: string }>(
        `SELECT concat_ws(' ', type, details->>'limit', details->>'used', details->>'max') AS notice
       FROM webhook_event ORDER BY type, created_at`,
      )
    ).map(({ notice }) => notice),
    followers: (
      await fixture.query<{ notice: string }>(
        `SELECT concat_ws(' ', data->>'limit', data->>'percent') AS notice FROM organization_event
       WHERE type = 'limit' ORDER BY (data->>'percent')::int, at`,
      )
    ).map(({ notice }) => notice),
  });

  it('concurrent launches that cross a monthly limit emit limit.near once and limit.reached once', async () => {
    await limitTo({ runs: 2000 });
    await batch(1590);
    expect(await notices()).toEqual({ endpoints: [], followers: [] });
    await launch(30);
    expect(await notices()).toEqual({
      endpoints: ['limit.near monthlyRunLimit 1600 2000'],
      followers: ['monthlyRunLimit 80'],
    });
    await batch(370);
    await Promise.allSettled(Array.from({ length: 30 }, () => fixture.launch()));
    expect(await notices()).toEqual({
      endpoints: ['limit.near monthlyRunLimit 1600 2000', 'limit.reached monthlyRunLimit 2000 2000'],
      followers: ['monthlyRunLimit 80', 'monthlyRunLimit 100'],
    });
  });

  it('limit.near is emitted once per limit value, even if reserved spend falls and rises again', async () => {
    await limitTo({ usd: 10 });
    for (const _ of [1, 2, 3]) {
      const [jobId] = await launch(1, { maxCostUsd: 8 });
      await end(jobId!, 0);
    }
    const once = { endpoints: ['limit.near monthlySpendLimitUsd 8 10'], followers: ['monthlySpendLimitUsd 80'] };
    expect(await notices()).toEqual(once);
    await limitTo({ usd: 9 });
    await launch(1, { maxCostUsd: 8 });
    expect(await notices()).toEqual({
      endpoints: [...once.endpoints, 'limit.near monthlySpendLimitUsd 8 9'],
      followers: [...once.followers, 'monthlySpendLimitUsd 80'],
    });
  });

  it('the booked costs of runs emit the notices of the spend limit, in whatever order they are booked', async () => {
    await limitTo({ usd: 20 });
    const jobs = await launch(9);
    await Promise.all(jobs.slice(0, 7).map((jobId) => end(jobId, 2)));
    expect(await notices()).toEqual({ endpoints: [], followers: [] });
    await Promise.all(jobs.slice(7).map((jobId) => end(jobId, 3)));
    expect(await notices()).toEqual({
      endpoints: ['limit.near monthlySpendLimitUsd 17 20', 'limit.reached monthlySpendLimitUsd 20 20'],
      followers: ['monthlySpendLimitUsd 80', 'monthlySpendLimitUsd 100'],
    });
  });
});
