import { applyHandshake } from '@muster/commands';
import { runBesideLock } from '@muster/testing';
import { appendJobLogs } from '../reports/append-job-logs';
import { applyJobReport } from '../reports/apply-job-report';
import { applyStepStatus } from '../reports/apply-step-status';
import { cancelJob } from './cancel-job';
import { applyStopResult } from './apply-stop-result';
import { failStaleJobs } from './fail-stale-jobs';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

jest.setTimeout(120_000);

const minute = 60_000;
const hour = 60 * minute;

describe('the watchdog of jobs', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  beforeEach(async () => {
    await fixture.query(`UPDATE job SET status = 'cancelled', billed_at = now() WHERE status IN ('queued', 'running')`);
    agentId = await fixture.makeOnlineAgent();
  });
  afterAll(() => fixture.close());

  const read = (id: string) => findJob(fixture.harness.db, fixture.organizationId, id);
  const sweep = (laterMs = 0, more: object = {}) =>
    failStaleJobs(fixture.harness.db, {
      // The rows have the times of the service's clock, which may differ from this process's by some milliseconds.
      now: new Date(fixture.harness.db.now().getTime() + laterMs),
      lostAfterMs: 1000 * hour,
      stalledAfterMs: 0,
      ...more,
    });
  const report = (jobId: string, more: object = {}) =>
    applyJobReport(fixture.harness.db, { organizationId: fixture.organizationId, agentId: null }, { jobId, ...more });
  async function launchRunningJob(input: object = {}): Promise<string> {
    const jobId = await fixture.dispatched({ agentId, ...input });
    await report(jobId, { status: 'running' });
    return jobId;
  }
  const stops = (jobId: string) =>
    fixture.query(`SELECT payload, status FROM agent_command WHERE job_id = $1 AND kind = 'stop_job'`, [jobId]);
  const agent = async (id = agentId) => (await fixture.query('SELECT * FROM agent WHERE id = $1', [id]))[0];
  const entriesOf = (jobId: string) =>
    fixture.query(`SELECT message, source, level FROM timeline_entry WHERE job_id = $1 AND kind = 'job' ORDER BY seq`, [
      jobId,
    ]);

  it('after a restore, unreported runs fail without a retry once an operator releases the service', async () => {
    const jobId = await launchRunningJob({ maxRetries: 1 });
    await fixture.query(
      `INSERT INTO recovery_hold (backup, saved_at, restored_at) VALUES ('b', now() + interval '1 minute', now() + interval '2 minutes')`,
    );
    try {
      const late = { lostAfterMs: 15 * minute };
      await expect(sweep(hour, late)).rejects.toThrow(
        /starts and stops nothing until its operator runs muster-admin release/,
      );
      expect((await read(jobId)).status).toBe('running');
      await fixture.query('UPDATE recovery_hold SET released_at = now()');
      expect(await sweep(hour, late)).toMatchObject({ failed: [jobId], retried: 0 });
      expect(await read(jobId)).toMatchObject({ status: 'failed', errorCode: 'lost_in_recovery' });
    } finally {
      await fixture.query('DELETE FROM recovery_hold');
    }
  });

  it('a run does not fail as lost while its report is being stored', async () => {
    const jobId = await launchRunningJob();
    const swept = await runBesideLock(
      fixture.harness.db,
      (tx) => tx.execute(`UPDATE job SET last_heartbeat_at = muster_now() + interval '1 hour' WHERE id = $1`, [jobId]),
      () => sweep(hour, { lostAfterMs: 15 * minute }),
    );
    expect(swept).toMatchObject({ scanned: 1, failed: [] });
    expect((await read(jobId)).status).toBe('running');
  });

  it('a run that exceeds its time limit fails once and is retried after it was killed and its agent is free', async () => {
    const jobId = await launchRunningJob({ maxRuntimeMs: 10 * minute, maxRetries: 1 });
    expect(await sweep(10 * minute - 1000)).toMatchObject({ scanned: 0, failed: [] });
    expect(await sweep(10 * minute)).toEqual({
      scanned: 1,
      failed: [jobId],
      killed: 1,
      retried: 1,
      stalled: 0,
      errors: 0,
    });
    expect(await read(jobId)).toMatchObject({
      status: 'failed',
      error: 'The run exceeded its limit of 10 min.',
      errorCode: 'execution_timeout',
    });
    expect(await stops(jobId)).toEqual([
      { payload: expect.objectContaining({ jobId, graceMs: 0 }), status: 'pending' },
    ]);
    expect((await agent()).currentJobId).toBeNull();
    const retries = await fixture.query('SELECT attempt, status FROM job WHERE retry_of = $1', [jobId]);
    expect(retries).toEqual([{ attempt: 2, status: 'queued' }]);
    expect((await entriesOf(jobId)).at(-1)).toEqual({
      message: 'failed: The run exceeded its limit of 10 min.',
      source: 'watchdog',
      level: 'error',
    });
    expect(await sweep(20 * minute)).toMatchObject({ failed: [], killed: 0, retried: 0 });
    expect(await report(jobId, { status: 'completed' })).toMatchObject({ accepted: false, reason: 'job_over' });
    expect((await read(jobId)).status).toBe('failed');
  });

  it('a run has a time limit of 12 hours by default', async () => {
    const jobId = await launchRunningJob();
    expect((await sweep(12 * hour - 2 * minute)).failed).toEqual([]);
    expect((await sweep(12 * hour + minute)).failed).toEqual([jobId]);
    expect((await read(jobId)).error).toBe('The run exceeded its limit of 12 h.');
  });

  it('a run without reports fails without a kill command after its agent went offline', async () => {
    const jobId = await launchRunningJob();
    await fixture.query(`UPDATE agent SET status = 'offline' WHERE id = $1`, [agentId]);
    expect((await sweep(14 * minute, { lostAfterMs: 15 * minute })).failed).toEqual([]);
    expect(await sweep(16 * minute, { lostAfterMs: 15 * minute })).toMatchObject({ failed: [jobId], killed: 0 });
    expect(await read(jobId)).toMatchObject({
      error: 'The agent went offline (16 min).',
      errorCode: 'agent_not_ready',
    });
    expect((await agent()).currentJobId).toBeNull();
  });

  describe('the machine of a run that the watchdog failed', () => {
    const confirm = async (jobId: string, status: string, output: object | null) => {
      const [stop] = await fixture.query<{ id: string }>(
        `UPDATE agent_command SET status = $2, output = $3, finished_at = now()
         WHERE job_id = $1 AND kind = 'stop_job' RETURNING id`,
        [jobId, status, output && JSON.stringify(output)],
      );
      await applyStopResult(fixture.harness.db, stop!.id);
    };
    async function failOverdueRun(): Promise<{ jobId: string; next: string }> {
      const jobId = await launchRunningJob({ maxRuntimeMs: minute });
      const next = await fixture.launch({ agentId });
      expect((await sweep(minute)).failed).toEqual([jobId]);
      expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({
        action: 'wait',
        reason: 'the remaining processes of the agent’s last job are being killed',
      });
      return { jobId, next };
    }

    it('an agent receives the next job once nothing of its failed run is left', async () => {
      const { jobId, next } = await failOverdueRun();
      await confirm(jobId, 'success', { remaining: 0 });
      expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
      expect((await read(jobId)).status).toBe('failed');
    });

    it('a machine is rebooted if its worker does not confirm that nothing of a failed run is left', async () => {
      await fixture.query(`UPDATE agent SET provider = 'ec2', boot_id = 'old' WHERE id = $1`, [agentId]);
      const { jobId, next } = await failOverdueRun();
      await confirm(jobId, 'failed', null);
      expect(await agent()).toMatchObject({ status: 'rebooting', statusSource: 'watchdog' });
      for (const [bootId, action] of [
        ['old', 'wait'],
        ['new', 'start'],
      ] as const) {
        await fixture.harness.db.transaction('system', (tx) =>
          applyHandshake(tx, fixture.organizationId, { agentId, bootId, workerVersion: '1' }),
        );
        expect((await fixture.dispatch.startNextJob(agentId)).action).toBe(action);
      }
      expect((await agent()).currentJobId).toBe(next);
    });

    it('a machine that the service cannot reboot gets its next job even if processes of a failed run are left', async () => {
      const { jobId, next } = await failOverdueRun();
      await confirm(jobId, 'success', { remaining: 3 });
      expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
    });

    it('an agent receives the next job without a confirmation of its worker if its failed job was deleted', async () => {
      const { jobId, next } = await failOverdueRun();
      await fixture.query('DELETE FROM job WHERE id = $1', [jobId]);
      expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
    });
  });

  it('a run fails if its online agent no longer reports the run', async () => {
    const jobId = await launchRunningJob();
    expect(await sweep(16 * minute, { lostAfterMs: 15 * minute })).toMatchObject({ failed: [jobId], killed: 1 });
    expect((await read(jobId)).error).toMatch(/no longer reports the run/);
  });

  it('a heartbeat, a step or a log line is a sign of life of a run', async () => {
    const lost = { lostAfterMs: 15 * minute };
    const old = (jobId: string) =>
      fixture.query(
        `UPDATE job SET started_at = now() - interval '1 hour', last_heartbeat_at = NULL,
           last_progress_at = NULL WHERE id = $1`,
        [jobId],
      );
    const jobId = await launchRunningJob();
    await fixture.query(`UPDATE agent_command SET taken_at = now() - interval '1 hour' WHERE job_id = $1`, [jobId]);
    await old(jobId);
    await report(jobId);
    expect((await sweep(0, lost)).failed).toEqual([]);
    await old(jobId);
    await applyStepStatus(
      fixture.harness.db,
      { organizationId: fixture.organizationId, agentId },
      { jobId, stepOrder: 1, status: 'running' },
    );
    expect((await sweep(0, lost)).failed).toEqual([]);
    await old(jobId);
    await appendJobLogs(fixture.harness.db, { organizationId: fixture.organizationId, agentId }, [
      { jobId, level: 'info', message: 'still here', timestamp: 1 },
    ]);
    expect((await sweep(0, lost)).failed).toEqual([]);
    expect((await sweep(20 * minute, lost)).failed).toEqual([jobId]);
  });

  it('a job that its agent acknowledged but never started fails; an unacknowledged job stays queued', async () => {
    const [acknowledging, silent] = [await fixture.makeOnlineAgent(), await fixture.makeOnlineAgent()];
    const jobs = [await fixture.dispatched({ agentId: acknowledging }), await fixture.dispatched({ agentId: silent })];
    await fixture.query(`UPDATE agent_command SET taken_at = now() WHERE job_id = $1`, [jobs[0]]);
    await fixture.query(`UPDATE agent SET status = 'offline' WHERE id = ANY($1)`, [[acknowledging, silent]]);
    expect((await sweep(16 * minute, { lostAfterMs: 15 * minute })).failed).toEqual([jobs[0]]);
    expect((await read(jobs[1]!)).status).toBe('queued');
    expect((await agent(acknowledging)).currentJobId).toBeNull();
    expect((await agent(silent)).currentJobId).toBe(jobs[1]);
  });

  it('a run that was being cancelled is not retried after it exceeds its time limit', async () => {
    const jobId = await launchRunningJob({ maxRetries: 3 });
    await fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      cancelJob(tx, fixture.caller, jobId, { now: new Date() }),
    );
    expect(await sweep(13 * hour)).toMatchObject({ failed: [jobId], retried: 0 });
  });

  it('a run without progress is reported as stalled once, until it makes progress', async () => {
    const stalls = { stalledAfterMs: hour };
    const jobId = await launchRunningJob();
    await report(jobId);
    expect(await sweep(59 * minute, stalls)).toMatchObject({ stalled: 0 });
    expect(await sweep(61 * minute, stalls)).toMatchObject({ failed: [], stalled: 1 });
    expect(await sweep(62 * minute, stalls)).toMatchObject({ failed: [], stalled: 0 });
    expect(await read(jobId)).toMatchObject({ status: 'running', stalled: true });
    expect((await entriesOf(jobId)).filter(({ message }) => message.startsWith('stalled'))).toEqual([
      { message: 'stalled: The run made no progress for 61 min.', source: 'watchdog', level: 'warn' },
    ]);
    await fixture.query(`UPDATE job SET stalled_at = now() - interval '1 minute' WHERE id = $1`, [jobId]);
    await applyStepStatus(
      fixture.harness.db,
      { organizationId: fixture.organizationId, agentId },
      { jobId, stepOrder: 1, status: 'running' },
    );
    expect((await read(jobId)).stalled).toBe(false);
    expect(await sweep(62 * minute, stalls)).toMatchObject({ stalled: 1 });
    expect(await sweep(62 * minute, { stalledAfterMs: 0 })).toMatchObject({ scanned: 0 });
  });

  it('a log line counts as progress of a run', async () => {
    const jobId = await launchRunningJob();
    await fixture.query(`UPDATE job SET started_at = now() - interval '2 hours' WHERE id = $1`, [jobId]);
    await appendJobLogs(fixture.harness.db, { organizationId: fixture.organizationId, agentId }, [
      { jobId, level: 'info', message: 'page 7', timestamp: 1 },
    ]);
    expect(await sweep(0, { stalledAfterMs: hour })).toMatchObject({ scanned: 1, stalled: 0 });
    expect(await sweep(0, { stalledAfterMs: hour })).toMatchObject({ scanned: 0, stalled: 0 });
    expect(await sweep(61 * minute, { stalledAfterMs: hour })).toMatchObject({ stalled: 1 });
  });

  it('a stalled run fails if the organization’s setting requires it', async () => {
    const set = (value: boolean) => fixture.query('UPDATE organization_settings SET fail_stalled_runs = $1', [value]);
    const jobId = await launchRunningJob();
    await set(true);
    try {
      expect(await sweep(61 * minute, { stalledAfterMs: hour })).toMatchObject({ failed: [jobId], killed: 1 });
      expect((await read(jobId)).error).toBe('The run made no progress for 61 min.');
    } finally {
      await set(false);
    }
  });

  it('several replicas that process many runs in small pages fail each run once', async () => {
    const { organizationId, workflowId } = fixture;
    const count = 300;
    await fixture.query(
      `WITH machines AS (
         INSERT INTO agent (id, organization_id, name, status)
         SELECT gen_random_uuid(), $1, 'Many ' || n, 'online' FROM generate_series(1, $3::int) n RETURNING id)
       INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, started_at, max_retries)
       SELECT gen_random_uuid(), $1, $2, 1, id, 'running', now() - interval '13 hours', 1 FROM machines`,
      [organizationId, workflowId, count],
    );
    const rounds = await Promise.all(Array.from({ length: 3 }, () => sweep(0, { limit: 40 })));
    const failed = rounds.flatMap((round) => round.failed);
    expect([failed.length, new Set(failed).size]).toEqual([count, count]);
    expect(rounds.reduce((sum, { errors }) => sum + errors, 0)).toBe(0);
    const [counts] = await fixture.query(
      `SELECT count(*)::int AS entries, count(DISTINCT job_id)::int AS jobs FROM timeline_entry
       WHERE job_id = ANY($1) AND message LIKE 'failed%'`,
      [failed],
    );
    expect(counts).toEqual({ entries: count, jobs: count });
    const [retries] = await fixture.query('SELECT count(*)::int AS n FROM job WHERE retry_of = ANY($1)', [failed]);
    expect(retries.n).toBe(count);
  });
});
