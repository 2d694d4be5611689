import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { applyJobReport } from '../reports/apply-job-report';
import { applyStepStatus } from '../reports/apply-step-status';
import { bookJobCost } from './book-job-cost';
import { failRunIfOverBudget, failRunsOverBudget } from './stop-over-budget';

describe('A run’s budget', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  async function launchRunningJob(input = {}) {
    const agentId = await fixture.makeOnlineAgent();
    const jobId = await fixture.dispatched({ agentId, ...input });
    await applyJobReport(fixture.harness.db, { organizationId: fixture.organizationId, agentId }, {
      jobId,
      status: 'running',
    } as never);
    return { agentId, jobId };
  }
  const spend = ({ agentId, jobId }: { agentId: string; jobId: string }, seq: number, costUsd: number) =>
    applyStepStatus(fixture.harness.db, { organizationId: fixture.organizationId, agentId }, {
      jobId,
      stepOrder: 1,
      status: 'running',
      seq,
      usage: { provider: 'nobody', model: 'unknown', inputTokens: 1, outputTokens: 1, costUsd },
    } as never);
  const statusOf = async (jobId: string) =>
    (await fixture.query(`SELECT status, error_code AS code, error FROM job WHERE id = $1`, [jobId]))[0];
  const checks = async (jobId: string) =>
    (await fixture.query(`SELECT FROM outbox WHERE name = 'check-budget' AND payload->>'jobId' = $1`, [jobId])).length;

  it('a run whose model costs exceed its budget fails once and is killed without a retry', async () => {
    const run = await launchRunningJob({ maxCostUsd: 1, maxRetries: 3 });
    await spend(run, 1, 0.9);
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(false);
    expect(await statusOf(run.jobId)).toMatchObject({ status: 'running' });
    await spend(run, 2, 0.11);
    expect(await checks(run.jobId)).toBe(2);
    const ended = await Promise.all([1, 2, 3].map(() => failRunIfOverBudget(fixture.harness.db, run.jobId)));
    expect(ended.filter(Boolean)).toHaveLength(1);
    expect(await statusOf(run.jobId)).toEqual({
      status: 'failed',
      code: 'budget_exceeded',
      error: expect.stringMatching(/^The run has cost 1\.01\d* USD, which is more than its budget of 1 USD\.$/),
    });
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [run.jobId])).toEqual([]);
    const commands = await fixture.query(
      `SELECT c.kind FROM agent a JOIN agent_command c ON c.id = a.clearing_command_id WHERE a.id = $1`,
      [run.agentId],
    );
    expect(commands).toEqual([{ kind: 'stop_job' }]);
  });

  it('a running run fails if the cost that its worker reports exceeds its budget', async () => {
    const run = await launchRunningJob({ maxCostUsd: 1 });
    const reportCost = (totalCostUsd: number, seq: number) =>
      applyJobReport(
        fixture.harness.db,
        { organizationId: fixture.organizationId, agentId: run.agentId },
        { jobId: run.jobId, totalCostUsd, seq },
      );
    expect(await reportCost(1, 1)).toEqual({ accepted: true, status: 'running' });
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(false);
    await reportCost(1.5, 3);
    await reportCost(0.5, 2);
    expect(await checks(run.jobId)).toBe(3);
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(true);
    expect(await statusOf(run.jobId)).toMatchObject({
      code: 'budget_exceeded',
      error: expect.stringContaining('1.5 USD'),
    });
    const cost = await fixture.harness.db.transaction('system', (tx) => bookJobCost(tx, run.jobId));
    expect(cost!.totalMicros).toBe(1_500_000n);
  });

  it('the sweep fails only runs whose machine time exceeds their budget', async () => {
    const runs = [];
    for (let at = 0; at < 5; at += 1) runs.push(await launchRunningJob({ maxCostUsd: 0.1 }));
    const over = runs[3]!;
    // The machine costs 0.12 USD per hour.
    await fixture.query(`UPDATE job SET started_at = now() - interval '59 minutes' WHERE id = $1`, [over.jobId]);
    expect(await failRunsOverBudget(fixture.harness.db, { limit: 2 })).toMatchObject({ stopped: 1 });
    expect(await statusOf(over.jobId)).toMatchObject({ status: 'failed', code: 'budget_exceeded' });
    expect(await failRunsOverBudget(fixture.harness.db, { limit: 2 })).toMatchObject({ stopped: 0 });
  });

  it('a run without a budget is not checked', async () => {
    const run = await launchRunningJob();
    await spend(run, 1, 1_000_000);
    expect(await checks(run.jobId)).toBe(0);
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(false);
  });

  it('a run whose cost equals its budget continues', async () => {
    const run = await launchRunningJob({ maxCostUsd: 0.12 });
    await fixture.query(`UPDATE agent SET compute_micros_per_hour = 0 WHERE id = $1`, [run.agentId]);
    await spend(run, 1, 0.12);
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(false);
    await spend(run, 2, 0.000001);
    expect(await failRunIfOverBudget(fixture.harness.db, run.jobId)).toBe(true);
  });
});
