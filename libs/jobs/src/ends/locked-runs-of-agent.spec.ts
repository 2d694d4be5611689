import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { runBehindLock, runBesideLock } from '@muster/testing';
import {
  drainAgentAndRuns,
  rebootAgentAndRuns,
  stopAgentAndRuns,
  terminateAgentAndRuns,
} from '../actions/switch-agent';
import { applyJobReport } from '../reports/apply-job-report';
import { applyStepStatus } from '../reports/apply-step-status';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { applyStopResult } from './apply-stop-result';
import { cancelJob } from './cancel-job';
import { finishJob } from './finish-job';
import { failRunIfOverBudget } from './stop-over-budget';

describe('an end of a run, while another transaction has locked the run', () => {
  let fixture: JobsFixture;
  let agentId: string;
  let jobId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    agentId = await fixture.makeOnlineAgent();
    jobId = await fixture.dispatched({ agentId, maxCostUsd: 1 });
    await applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'running' });
  });

  const reporter = () => ({ organizationId: fixture.organizationId, agentId });
  const run = <T>(work: (tx: Transaction) => Promise<T>) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, work);
  const lockJob = (tx: Transaction) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]);
  const readStatus = async () => (await fixture.query('SELECT status FROM job WHERE id = $1', [jobId]))[0].status;

  it.each<[string, (tx: Transaction) => Promise<unknown>]>([
    ['stop', (tx) => stopAgentAndRuns(tx, fixture.caller, agentId, { force: true })],
    ['reboot', (tx) => rebootAgentAndRuns(tx, fixture.caller, agentId)],
    ['termination', (tx) => terminateAgentAndRuns(tx, fixture.caller, agentId, { force: true })],
    ['drain', (tx) => drainAgentAndRuns(tx, fixture.caller, agentId, { mode: 'now', force: true, now: new Date() })],
  ])(
    'a forced %s of an agent locks the run before the agent, and does not fail a run that completes meanwhile',
    async (...row) => {
      const [, change] = row;
      await fixture.query("UPDATE agent SET provider = 'docker' WHERE id = $1", [agentId]);
      await runBehindLock(
        fixture.harness.db,
        lockJob,
        () => [run(change)],
        async (tx) => {
          await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE NOWAIT', [agentId]);
          await finishJob(tx, { organizationId: fixture.organizationId, jobId, to: 'completed', source: 'worker' });
        },
      );
      expect(await readStatus()).toBe('completed');
    },
  );

  it('a run over its budget is left to the transaction that has locked it', async () => {
    await applyStepStatus(fixture.harness.db, reporter(), {
      jobId,
      stepOrder: 1,
      status: 'running',
      seq: 1,
      usage: { provider: 'nobody', model: 'unknown', inputTokens: 1, outputTokens: 1, costUsd: 2 },
    } as never);
    const check = () => failRunIfOverBudget(fixture.harness.db, jobId);
    expect(await runBesideLock(fixture.harness.db, lockJob, check)).toBe(false);
    expect([await readStatus(), await check(), await readStatus()]).toEqual(['running', true, 'failed']);
  });

  it('two confirmations of a stop that are handled at the same time end the run once', async () => {
    await run((tx) => cancelJob(tx, fixture.caller, jobId, { now: new Date() }));
    const [{ id }] = await fixture.query(
      `UPDATE agent_command SET status = 'success', output = '{"remaining": 0}', finished_at = muster_now()
       WHERE job_id = $1 AND kind = 'stop_job' RETURNING id`,
      [jobId],
    );
    const apply = () => applyStopResult(fixture.harness.db, id);
    await runBehindLock(
      fixture.harness.db,
      (tx) => acquireAdvisoryLock(tx, 'stop', jobId),
      () => [apply(), apply()],
    );
    expect(await readStatus()).toBe('cancelled');
    const ends = await fixture.query(
      `SELECT FROM timeline_entry WHERE job_id = $1 AND kind = 'job' AND data->>'status' = 'cancelled'`,
      [jobId],
    );
    expect(ends).toHaveLength(1);
  });
});
