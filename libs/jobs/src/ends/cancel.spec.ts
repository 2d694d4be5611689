import type { JobStatus } from '@muster/contracts';
import { newId } from '@muster/platform';
import { runBesideLock } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { cancelBatch, requestBatchCancel } from '../batches/cancel-batch';
import { findUnequalCounters } from '@muster/pricing';
import { cancelJob } from './cancel-job';
import { cancelJobs } from './cancel-jobs';
import { applyStopResult } from './apply-stop-result';
import { decideNextCancelStep, escalateCancels } from './escalate-cancels';
import { bookJobCosts } from './book-job-cost';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

jest.setTimeout(60_000);

describe('a cancel', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  beforeEach(async () => {
    agentId = await fixture.makeOnlineAgent();
  });
  afterAll(() => fixture.close());

  const read = (id: string) => findJob(fixture.harness.db, fixture.organizationId, id);
  const cancel = (id: string, reason?: string) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      cancelJob(tx, fixture.caller, id, { reason, now: new Date() }),
    );
  const report = (jobId: string, status: Exclude<JobStatus, 'queued'>) =>
    applyJobReport(fixture.harness.db, { organizationId: fixture.organizationId, agentId }, { jobId, status });
  const stops = (jobId: string) =>
    fixture.query(`SELECT id, payload FROM agent_command WHERE job_id = $1 AND kind = 'stop_job' ORDER BY id`, [jobId]);
  const answer = async (commandId: string, status: string, output: object | null) => {
    await fixture.query('UPDATE agent_command SET status = $2, output = $3, finished_at = now() WHERE id = $1', [
      commandId,
      status,
      output && JSON.stringify(output),
    ]);
    await applyStopResult(fixture.harness.db, commandId);
  };

  it('a cancel immediately ends a job that was not dispatched', async () => {
    const jobId = await fixture.launch({ agentId });
    expect(await cancel(jobId, 'by mistake')).toBe('cancelled');
    expect(await read(jobId)).toMatchObject({
      status: 'cancelled',
      error: 'by mistake',
      errorCode: 'cancelled',
      startedAt: null,
    });
    await expect(cancel(jobId)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('a cancelled job that was dispatched ends when its agent confirms that nothing of the job is left', async () => {
    const jobId = await fixture.dispatched({ agentId });
    await report(jobId, 'running');
    expect(await cancel(jobId, 'enough')).toBe('cancelling');
    expect(await cancel(jobId)).toBe('cancelling');
    const [stop, ...more] = await stops(jobId);
    expect(more).toEqual([]);
    expect(stop.payload).toEqual({ jobId, reason: 'enough', graceMs: 10_000 });
    await answer(stop.id, 'success', { remaining: 2 });
    expect((await read(jobId)).status).toBe('running');
    await answer(stop.id, 'failed', { remaining: 0 });
    expect((await read(jobId)).status).toBe('running');
    await answer(stop.id, 'success', { remaining: 0 });
    expect(await read(jobId)).toMatchObject({ status: 'cancelled', error: 'enough', errorCode: 'cancelled' });
  });

  it('a run that fails while a cancel stops it is not retried', async () => {
    const jobId = await fixture.dispatched({ agentId, maxRetries: 3 });
    await report(jobId, 'running');
    await cancel(jobId);
    await report(jobId, 'failed');
    expect((await read(jobId)).status).toBe('failed');
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [jobId])).toEqual([]);
  });

  it('the queued jobs of a cancelled batch do not start before they are cancelled', async () => {
    const jobId = await fixture.launch({ agentId });
    const batchId = newId();
    await fixture.query(
      `WITH new_batch AS (
         INSERT INTO batch (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by)
         VALUES ($1, $2, $3, 1, 1, 0, 'test'))
       UPDATE job SET batch_id = $1 WHERE id = $4`,
      [batchId, fixture.organizationId, fixture.workflowId, jobId],
    );
    await fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      requestBatchCancel(tx, fixture.caller, batchId, { reason: 'the wrong file' }),
    );
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'none' });
    expect(await cancelBatch(fixture.harness.db, batchId, () => new Date())).toEqual({ ended: 1 });
    expect(await read(jobId)).toMatchObject({
      status: 'cancelled',
      error: 'the wrong file',
      errorCode: 'cancelled',
    });
  });

  it('a cancelled job occupies its machine until the agent confirms that the run has stopped', async () => {
    const jobId = await fixture.dispatched({ agentId });
    const next = await fixture.launch({ agentId });
    await cancel(jobId);
    expect(await fixture.dispatch.startNextJob(agentId)).not.toMatchObject({ action: 'start' });
    const [stop] = await stops(jobId);
    await answer(stop.id, 'success', { remaining: 0 });
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
  });

  it('a cancel does not change a job that ended before its worker received the stop', async () => {
    const jobId = await fixture.dispatched({ agentId });
    await cancel(jobId);
    await report(jobId, 'completed');
    const [stop] = await stops(jobId);
    await answer(stop.id, 'success', { remaining: 0 });
    expect((await read(jobId)).status).toBe('completed');
  });

  it('a cancel is escalated however many other cancels wait for machines that do not answer', async () => {
    await fixture.query(
      `WITH silent AS (
         INSERT INTO agent (id, organization_id, name, status, provider)
         SELECT gen_random_uuid(), $1, 'Silent ' || n, 'offline', CASE WHEN n % 2 = 0 THEN 'external' ELSE 'local' END
         FROM generate_series(1, 250) n RETURNING id)
       INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, cancel_requested_at,
                        cancel_step)
       SELECT gen_random_uuid(), $1, $2, 1, id, 'running', now() - interval '1 day', 3 FROM silent`,
      [fixture.organizationId, fixture.workflowId],
    );
    const jobId = await fixture.dispatched({ agentId });
    await report(jobId, 'running');
    await cancel(jobId);
    expect(await escalateCancels(fixture.harness.db, new Date(Date.now() + 60_000))).toEqual({
      looked: 1,
      confirmed: 0,
      killed: 1,
      rebooted: 0,
    });
    await report(jobId, 'failed');
    await fixture.query("DELETE FROM job WHERE agent_id IN (SELECT id FROM agent WHERE name LIKE 'Silent %')");
  });

  it('a cancel that another process is escalating is not escalated a second time', async () => {
    const jobId = await fixture.dispatched({ agentId });
    await report(jobId, 'running');
    await cancel(jobId);
    const escalated = await runBesideLock(
      fixture.harness.db,
      (tx) => tx.execute('UPDATE job SET cancel_step = 2 WHERE id = $1', [jobId]),
      () => escalateCancels(fixture.harness.db, new Date(Date.now() + 60_000)),
    );
    expect(escalated).toMatchObject({ looked: 1, killed: 0 });
    expect(await fixture.query('SELECT cancel_step FROM job WHERE id = $1', [jobId])).toEqual([{ cancelStep: 2 }]);
  });

  it.each([
    [null, 'online'],
    ['now', 'draining'],
  ])(
    'a cancel escalates to a kill and then a reboot, with timeline entries, on an agent with the drain %j',
    async (drain, rebooted) => {
      await fixture.query(`UPDATE agent SET provider = 'local' WHERE id = $1`, [agentId]);
      const jobId = await fixture.dispatched({ agentId });
      await report(jobId, 'running');
      await cancel(jobId);
      const after = (minutes: number) => escalateCancels(fixture.harness.db, new Date(Date.now() + minutes * 60_000));
      expect(await after(0)).toMatchObject({ killed: 0 });
      expect(await after(1)).toMatchObject({ killed: 1 });
      expect(await after(1)).toMatchObject({ killed: 0, rebooted: 0 });
      const [, kill] = await stops(jobId);
      expect(kill.payload).toMatchObject({ graceMs: 0 });
      expect(await after(3)).toMatchObject({ rebooted: 1 });
      const [agent] = await fixture.query('SELECT status FROM agent WHERE id = $1', [agentId]);
      expect(agent.status).toBe('rebooting');
      await fixture.query(
        `UPDATE agent SET status = $2, drain = $3, status_source = 'handshake', status_since = now() WHERE id = $1`,
        [agentId, rebooted, drain],
      );
      expect(await after(5)).toMatchObject({ confirmed: 1 });
      expect((await read(jobId)).status).toBe('cancelled');
      const entries = await fixture.query(
        `SELECT message FROM timeline_entry WHERE job_id = $1 AND source = 'watchdog' ORDER BY seq`,
        [jobId],
      );
      expect(entries.map(({ message }) => message)).toEqual([
        'the agent did not confirm the stop: kill',
        'the agent did not confirm the kill: reboot',
        'cancelled',
      ]);
    },
  );

  it.each([
    [{ step: 1, provider: 'local', agentStatus: 'online', rebooted: false }, 'kill'],
    [{ step: 2, provider: 'local', agentStatus: 'offline', rebooted: false }, 'reboot'],
    [{ step: 2, provider: 'external', agentStatus: 'offline', rebooted: false }, 'wait'],
    [{ step: 3, provider: 'local', agentStatus: 'rebooting', rebooted: false }, 'wait'],
    [{ step: 3, provider: 'local', agentStatus: 'online', rebooted: true }, 'confirm'],
    [{ step: 1, provider: 'local', agentStatus: 'stopped', rebooted: false }, 'confirm'],
  ] as const)('a cancel in the state %j continues with %s', (facts, action) => {
    expect(decideNextCancelStep(facts).action).toBe(action);
  });

  it('a cancel of several jobs returns how many were cancelled, are being stopped, or were skipped', async () => {
    const running = await fixture.dispatched({ agentId });
    const queued = [await fixture.launch({ agentId }), await fixture.launch({ agentId })];
    const many = (body: object) =>
      fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
        cancelJobs(tx, fixture.caller, body, new Date()),
      );
    await expect(many({})).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(many({ filter: {} })).rejects.toMatchObject({ code: 'invalid_payload' });
    expect(await many({ ids: [queued[0]!, 'nonsense'] })).toEqual({ cancelled: 1, cancelling: 0, skipped: 1 });
    expect(await many({ filter: { agentId } })).toEqual({ cancelled: 1, cancelling: 1, skipped: 0 });
    expect((await read(running)).cancelRequestedAt).not.toBeNull();
  });

  it('cancelling many waiting jobs takes as many statements as cancelling a few, and books a cost of 0 for each', async () => {
    const own = await fixture.makeOnlineAgent();
    const { organizationId, workflowId } = fixture;
    await fixture.query(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events)
       VALUES (gen_random_uuid(), $1, 'http://receiver.invalid/', '{batch.finished}')`,
      [organizationId],
    );
    const cancelled = (count: number) =>
      fixture.harness.db.transaction('system', async (tx) => {
        const batchId = newId();
        const ids = (
          await tx.query<{ id: string }>(
            `WITH new_batch AS (
               INSERT INTO batch (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by)
               VALUES ($5, $1, $2, 1, $4 - 1, 0, 'test'))
             INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, batch_id, reserved_micros)
             SELECT gen_random_uuid(), $1, $2, 1, $3, CASE WHEN n > 1 THEN $5::uuid END, 7 FROM generate_series(1, $4) n
             RETURNING id`,
            [organizationId, workflowId, own, count, batchId],
          )
        ).map(({ id }) => id);
        await tx.execute(
          `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, cost_micros)
           VALUES ($1, 1, 1, $2, 'openai', 'm', 5)`,
          [ids[0], organizationId],
        );
        const spies = [jest.spyOn(tx, 'query'), jest.spyOn(tx, 'execute'), jest.spyOn(tx, 'deferStatement')];
        expect(await cancelJobs(tx, fixture.caller, { ids, reason: 'enough' }, new Date())).toMatchObject({
          cancelled: count,
        });
        return { ids, batchId, statements: spies.reduce((sum, { mock }) => sum + mock.calls.length, 0) };
      });
    const few = await cancelled(3);
    const { ids, batchId, ...many } = await cancelled(900);
    expect(many.statements).toBe(few.statements);
    const owed = async () =>
      (
        await fixture.query(
          `SELECT (SELECT count(*)::int FROM job WHERE id = ANY($1) AND status = 'cancelled' AND error = 'enough'
                     AND finished_at IS NOT NULL AND billed_at IS NOT NULL) AS ended,
                  (SELECT count(*)::int FROM job WHERE id = ANY($1) AND total_cost_micros = 0 AND reserved_micros = 0)
                    AS free,
                  (SELECT count(*)::int FROM usage_event WHERE job_id = ANY($1) AND kind = 'run') AS events,
                  (SELECT count(*)::int FROM run_cost WHERE job_id = ANY($1)) AS costs,
                  (SELECT count(*)::int FROM timeline_entry WHERE job_id = ANY($1) AND message = 'cancelled: enough')
                    AS entries,
                  (SELECT count(*)::int FROM webhook_event WHERE subject_id = $2) AS finished_batches`,
          [ids, batchId],
        )
      )[0];
    const all = { ended: 900, events: 900, entries: 900, free: 899 };
    expect(await owed()).toEqual({ ...all, costs: 898, finishedBatches: 0 });
    // Two messages: one for the job with reported usage, and one for any job of the batch. The handler of the second
    // message checks whether the batch has ended.
    const messages = await fixture.query(
      `SELECT payload->>'jobId' AS id FROM outbox WHERE name = 'job-finished' AND payload->>'jobId' = ANY($1)`,
      [ids],
    );
    expect(messages).toHaveLength(2);
    expect(messages.map(({ id }) => id)).toContain(ids[0]);
    await fixture.harness.db.transaction('system', (tx) =>
      bookJobCosts(
        tx,
        messages.map(({ id }) => id),
      ),
    );
    expect(await owed()).toEqual({ ...all, costs: 900, finishedBatches: 1 });
    expect((await read(ids[0]!)).totalCostMicros).toBe(5);
    expect(await findUnequalCounters(fixture.harness.db)).toEqual([]);
    const uncounted = 'SELECT job_id FROM usage_event WHERE job_id = ANY($1) AND NOT counted';
    expect(await fixture.query(uncounted, [ids])).toEqual([]);
  });

  it('a cancel of several waiting jobs emits the notices of a run limit once', async () => {
    const jobs = [await fixture.launch({ agentId }), await fixture.launch({ agentId })];
    const notices = () =>
      fixture.query('SELECT level, max FROM limit_notice WHERE organization_id = $1', [fixture.organizationId]);
    const [{ runs }] = await fixture.query(
      'SELECT sum(runs)::int AS runs FROM usage_counter WHERE organization_id = $1',
      [fixture.organizationId],
    );
    await fixture.query('UPDATE organization_settings SET monthly_run_limit = $2 WHERE organization_id = $1', [
      fixture.organizationId,
      runs + 2,
    ]);
    await fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      cancelJobs(tx, fixture.caller, { ids: jobs }, new Date()),
    );
    expect(await notices()).toEqual([
      { level: 'near', max: runs + 2 },
      { level: 'reached', max: runs + 2 },
    ]);
  });
});
