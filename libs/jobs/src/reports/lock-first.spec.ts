import { issueCommand } from '@muster/commands';
import { acquireAdvisoryLock } from '@muster/database';
import { runBehindLock, runBesideLock } from '@muster/testing';
import { appendJobLogs } from './append-job-logs';
import { applyClaimResults } from './apply-claim-results';
import { applyJobReport } from './apply-job-report';
import { applyStepStatus } from './apply-step-status';
import { finishJob } from '../ends/finish-job';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

describe('a report or a dispatch that waited for a lock', () => {
  let fixture: JobsFixture;
  let agentId: string;
  let jobId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    agentId = await fixture.makeOnlineAgent();
    jobId = await fixture.dispatched({ agentId });
  });

  const reporter = () => ({ organizationId: fixture.organizationId, agentId });
  const holdJob = () => (tx: { query(sql: string, values: unknown[]): Promise<unknown> }) =>
    tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]);

  it('a claim in several concurrent reports is counted once, with the outcome that was signed last', async () => {
    const claim = (outcome: 'eob_uploaded' | 'failed' | 'no_eob_found', second: number) =>
      applyClaimResults(fixture.harness.db, reporter(), {
        jobId,
        claims: Array.from({ length: 20 }, (_, at) => ({ claimId: `C${at}`, outcome })),
        signedAt: new Date(second * 1000),
      });
    await runBehindLock(fixture.harness.db, holdJob(), () => [
      claim('eob_uploaded', 1),
      claim('failed', 3),
      claim('no_eob_found', 2),
    ]);
    expect(await findJob(fixture.harness.db, fixture.organizationId, jobId)).toMatchObject({
      claimsAttempted: 20,
      claimsEobUploaded: 0,
      claimsNoEobFound: 0,
      claimsFailed: 20,
    });
  });

  it('concurrent reports of the same step are recorded once in the timeline', async () => {
    const step = () =>
      applyStepStatus(fixture.harness.db, reporter(), { jobId, stepOrder: 1, name: 'Open', status: 'passed', seq: 1 });
    const answers = await runBehindLock(fixture.harness.db, holdJob(), () => [step(), step(), step()]);
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(1);
    const entries = await fixture.query(`SELECT FROM timeline_entry WHERE job_id = $1 AND message = 'Open: passed'`, [
      jobId,
    ]);
    expect(entries).toHaveLength(1);
  });

  it('the end of a job counts a step that is committed while the end waits for the job’s lock', async () => {
    await applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'running' });
    await runBehindLock(
      fixture.harness.db,
      holdJob(),
      () => [applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'completed' })],
      (tx) =>
        tx.query(
          `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key) VALUES ($1, 1, $2, 'passed', 1)`,
          [jobId, fixture.organizationId],
        ),
    );
    const [entry] = await fixture.query(
      `SELECT data->'progress'->'stepsPassed' AS passed FROM timeline_entry
       WHERE job_id = $1 AND kind = 'job' ORDER BY seq DESC LIMIT 1`,
      [jobId],
    );
    expect(entry).toEqual({ passed: 1 });
  });

  it('a job’s heartbeat is rejected if the job is cancelled while the heartbeat waits for the job’s row', async () => {
    const { organizationId } = fixture;
    await applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'running' });
    const answers = await runBehindLock(
      fixture.harness.db,
      holdJob(),
      () => [applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'running' })],
      (tx) => finishJob(tx, { organizationId, jobId, to: 'cancelled', source: 'watchdog', error: null }),
    );
    expect(answers).toEqual([{ accepted: false, reason: 'job_over', status: 'cancelled' }]);
    expect(await findJob(fixture.harness.db, organizationId, jobId)).toMatchObject({ status: 'cancelled' });
  });

  it('no job starts on a machine if the removal of an ended job’s processes is ordered while the dispatch waits', async () => {
    await applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'completed' });
    const next = await fixture.launch({ agentId });
    const [outcome] = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [fixture.dispatch.startNextJob(agentId)],
      async (tx) => {
        const commandId = await issueCommand(tx, {
          organizationId: fixture.organizationId,
          agentId,
          jobId,
          kind: 'stop_job',
          payload: { jobId },
          deadline: new Date(Date.now() + 60_000),
        });
        await tx.execute('UPDATE agent SET clearing_command_id = $2 WHERE id = $1', [agentId, commandId]);
      },
    );
    expect(outcome).toMatchObject({ action: 'wait', jobId: next });
  });

  it('a log line with a seq that is in two concurrent requests is stored once', async () => {
    const line = { jobId, seq: 1, level: 'info', message: 'once', timestamp: Date.now() / 1000 } as const;
    const append = () => appendJobLogs(fixture.harness.db, reporter(), [line]);
    const answers = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM job_log_seen WHERE job_id = $1 FOR UPDATE', [jobId]),
      () => [append(), append()],
    );
    expect(answers).toEqual(expect.arrayContaining([{ accepted: 1 }, { accepted: 0 }]));
    expect(
      await fixture.query(`SELECT FROM timeline_entry WHERE job_id = $1 AND kind = 'execution'`, [jobId]),
    ).toHaveLength(1);
  });

  it('a sign of life of a run does not wait for the lock of its agent', async () => {
    const live = () => applyJobReport(fixture.harness.db, reporter(), { jobId, status: 'running' });
    await live();
    await fixture.query("UPDATE agent SET last_activity_at = muster_now() - interval '1 minute' WHERE id = $1", [
      agentId,
    ]);
    const answer = await runBesideLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      live,
    );
    expect(answer).toMatchObject({ accepted: true });
  });

  it('a job that is cancelled while its dispatch waits for the job’s row does not start', async () => {
    const agent = await fixture.makeOnlineAgent();
    const queued = await fixture.launch({ agentId: agent });
    const [outcome] = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [queued]),
      () => [fixture.dispatch.startNextJob(agent)],
      (tx) => tx.execute('UPDATE job SET cancel_requested_at = muster_now() WHERE id = $1', [queued]),
    );
    expect(outcome).toMatchObject({ action: 'none' });
    expect(await fixture.query('SELECT command_id FROM job WHERE id = $1', [queued])).toEqual([{ commandId: null }]);
  });

  it('two concurrent dispatches do not exceed the number of runs that an organization allows at the same time', async () => {
    const { organizationId } = fixture;
    await fixture.query(
      `UPDATE organization_settings SET max_concurrent_runs = 1 + (
         SELECT count(*) FROM job WHERE organization_id = $1 AND command_id IS NOT NULL AND status IN ('queued', 'running'))
       WHERE organization_id = $1`,
      [organizationId],
    );
    const agents = [await fixture.makeOnlineAgent(), await fixture.makeOnlineAgent()];
    for (const each of agents) await fixture.launch({ agentId: each });
    const outcomes = await runBehindLock(
      fixture.harness.db,
      (tx) => acquireAdvisoryLock(tx, 'concurrency', organizationId),
      () => agents.map((each) => fixture.dispatch.startNextJob(each)),
    );
    expect(outcomes.map(({ action }) => action).sort()).toEqual(['start', 'wait']);
  });
});
