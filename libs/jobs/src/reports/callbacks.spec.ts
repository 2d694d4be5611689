import type { JobWebhookBody, StepStatusBody } from '@muster/contracts';
import { unequalCounters } from '@muster/pricing';
import fc from 'fast-check';
import { appendJobLogs } from './append-job-logs';
import { applyClaimResults } from './apply-claim-results';
import { applyJobReport } from './apply-job-report';
import { applyStepStatus } from './apply-step-status';
import { findJob } from '../lists/job-row';
import { type JobsLab, openJobsLab } from '../testing/jobs.harness';
import { listSteps } from '../lists/list-steps';

jest.setTimeout(120_000);

const signedAt = new Date();

describe('callbacks of a job', () => {
  let lab: JobsLab;
  let reporter: { organizationId: string; agentId: string };

  beforeAll(async () => {
    lab = await openJobsLab();
  });
  afterAll(() => lab.close());

  async function freshJob(): Promise<string> {
    const agentId = await lab.makeOnlineAgent();
    reporter = { organizationId: lab.organizationId, agentId };
    return lab.dispatched({ agentId });
  }
  const report = (body: JobWebhookBody) => applyJobReport(lab.harness.db, reporter, body);
  const step = (body: StepStatusBody) => applyStepStatus(lab.harness.db, reporter, body);
  const read = (id: string) => findJob(lab.harness.db, lab.organizationId, id);

  it('move a job from queued to running to its end, and no further', async () => {
    const jobId = await freshJob();
    expect((await read(jobId)).status).toBe('queued');
    expect(await report({ jobId })).toEqual({ accepted: true, status: 'running' });
    expect(await report({ jobId, progress: 40, seq: 2 })).toEqual({ accepted: true, status: 'running' });
    expect(await read(jobId)).toMatchObject({ status: 'running', percent: 40 });
    expect(await report({ jobId, status: 'completed', result: { a: 1 } })).toEqual({
      accepted: true,
      status: 'completed',
    });
    for (const status of ['running', 'failed', 'completed', 'cancelled'] as const) {
      expect(await report({ jobId, status, error: 'late' })).toEqual({
        accepted: false,
        reason: 'job_over',
        status: 'completed',
      });
    }
    expect(await read(jobId)).toMatchObject({ status: 'completed', result: { a: 1 }, error: null });
  });

  it('free the machine at the end of a job, enqueue the agent if another job waits for it, and meter the run', async () => {
    const lonely = await freshJob();
    await report({ jobId: lonely, status: 'completed' });
    const looks = `SELECT name FROM outbox WHERE name = 'dispatch-agent' AND payload->>'agentId' = $1`;
    const asLaunched = await lab.query(looks, [reporter.agentId]);
    const jobId = await freshJob();
    await lab.launch({ agentId: reporter.agentId });
    await lab.query('DELETE FROM outbox');
    expect(asLaunched).toHaveLength(1);
    await report({ jobId, status: 'completed' });
    const [agent] = await lab.query('SELECT current_job_id FROM agent WHERE id = $1', [reporter.agentId]);
    expect(agent).toEqual({ currentJobId: null });
    const events = await lab.query('SELECT kind, outcome FROM usage_event WHERE job_id = $1', [jobId]);
    expect(events).toEqual([{ kind: 'run', outcome: 'completed' }]);
    const messages = await lab.query(
      `SELECT name FROM outbox WHERE payload->>'jobId' = $1 OR payload->>'agentId' = $2 ORDER BY name`,
      [jobId, reporter.agentId],
    );
    expect(messages.map(({ name }) => name)).toEqual(expect.arrayContaining(['dispatch-agent', 'job-finished']));
  });

  it('have the cost booked again if a step’s time arrives after the job’s end, because the day decides the price', async () => {
    const jobId = await freshJob();
    const usage = { provider: 'acme', model: 'm', inputTokens: 1, outputTokens: 1 };
    const startedAt = '2026-03-09T23:59:59.000Z';
    await step({ jobId, stepOrder: 1, status: 'running', seq: 1, startedAt, usage });
    await report({ jobId, status: 'completed' });
    await lab.query('DELETE FROM outbox');
    const late = { jobId, stepOrder: 1, status: 'passed', seq: 2, finishedAt: '2026-03-10T00:00:01.000Z' } as const;
    expect(await step(late)).toEqual({ accepted: false, reason: 'job_over' });
    const settled = () => lab.query(`SELECT name FROM outbox WHERE payload->>'jobId' = $1`, [jobId]);
    expect(await settled()).toEqual([{ name: 'job-finished' }]);
    await step({ jobId, stepOrder: 2, status: 'skipped', seq: 3 });
    expect(await settled()).toHaveLength(1);
  });

  it('let one of fifty concurrent ends win', async () => {
    const jobId = await freshJob();
    const statuses = ['completed', 'failed', 'cancelled'] as const;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => report({ jobId, status: statuses[at % 3]!, error: `end ${at}` })),
    );
    const winners = answers.filter(({ accepted }) => accepted);
    expect(winners).toHaveLength(1);
    expect((await read(jobId)).status).toBe(winners[0]!.status);
    const [{ count }] = await lab.query('SELECT count(*) FROM usage_event WHERE job_id = $1', [jobId]);
    expect(count).toBe(1);
    expect(await unequalCounters(lab.harness.db)).toEqual([]);
  });

  it('are rejected as not_found if they come from another agent', async () => {
    const jobId = await freshJob();
    const other = { organizationId: lab.organizationId, agentId: lab.agentId };
    await expect(applyJobReport(lab.harness.db, other, { jobId })).rejects.toMatchObject({ code: 'not_found' });
    await expect(applyJobReport(lab.harness.db, other, { jobId, status: 'failed' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(
      applyStepStatus(lab.harness.db, other, { jobId, stepOrder: 1, status: 'running' }),
    ).rejects.toMatchObject({ code: 'not_found' });
    const log = { jobId, level: 'info' as const, message: 'x', timestamp: 1 };
    await expect(appendJobLogs(lab.harness.db, other, [log])).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      applyClaimResults(lab.harness.db, other, {
        jobId,
        claims: [{ claimId: 'C', outcome: 'failed' }],
        signedAt,
      }),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect((await read(jobId)).status).toBe('queued');
  });

  it('do not change a job that was never dispatched', async () => {
    const agentId = await lab.makeOnlineAgent();
    const jobId = await lab.launch({ agentId });
    for (const status of [undefined, 'running', 'completed', 'failed', 'cancelled'] as const) {
      const answer = await applyJobReport(
        lab.harness.db,
        { organizationId: lab.organizationId, agentId },
        { jobId, status },
      );
      expect(answer).toEqual({ accepted: false, reason: 'not_dispatched', status: 'queued' });
    }
    expect(await read(jobId)).toMatchObject({ status: 'queued', startedAt: null, finishedAt: null });
  });

  it('record the job’s progress in its agent’s timeline, by the worker’s percentage and by its steps', async () => {
    const jobId = await freshJob();
    const told = async () => {
      const rows = await lab.query<{ data: any }>(
        `SELECT data FROM timeline_entry WHERE job_id = $1 AND kind = 'job' AND data->>'progress' IS NOT NULL ORDER BY seq`,
        [jobId],
      );
      return rows.map(({ data }) => [data.status, data.progress.percent, data.progress.stepsPassed]);
    };
    await report({ jobId, status: 'running' });
    await step({ jobId, stepOrder: 1, status: 'passed' });
    await report({ jobId, progress: 40, seq: 1 });
    await report({ jobId, progress: 40, seq: 2 });
    await report({ jobId, progress: 30, seq: 0 });
    await report({ jobId, status: 'completed' });
    expect(await told()).toEqual([
      ['running', 0, 0],
      ['running', 100, 1],
      ['running', 40, 1],
      ['completed', 100, 1],
    ]);
  });

  it('store a screenshot of the own organization, of a run or of its end, and reject other keys', async () => {
    const jobId = await freshJob();
    const own = `artifacts/${lab.organizationId}`;
    for (const screenshotKey of [`${own}/../../other/x.png`, `${own}//x.png`, 'x.png', '../x.png']) {
      for (const status of ['running', 'completed'] as const) {
        await expect(report({ jobId, status, screenshotKey })).rejects.toMatchObject({ code: 'invalid_payload' });
      }
    }
    await report({ jobId, status: 'running', screenshotKey: `${own}/a.png` });
    expect(await read(jobId)).toMatchObject({ status: 'running', screenshotKey: `${own}/a.png` });
  });

  it('store a log entry with a seq once, and one without a seq each time it arrives', async () => {
    const jobId = await freshJob();
    const entry = (seq?: number) => ({
      jobId,
      level: 'info' as const,
      message: `line ${seq}`,
      timestamp: 1_767_225_600,
      seq,
    });
    const append = (...seqs: (number | undefined)[]) => appendJobLogs(lab.harness.db, reporter, seqs.map(entry));
    expect(await append(1, 2, 3)).toEqual({ accepted: 3 });
    expect(await append(2, 3, 4, 4)).toEqual({ accepted: 1 });
    expect(await append(7, 6)).toEqual({ accepted: 2 });
    expect(await append(5, 1)).toEqual({ accepted: 1 });
    expect(await append(undefined, undefined)).toEqual({ accepted: 2 });
    const rows = await lab.query(
      `SELECT log_seq FROM timeline_entry WHERE job_id = $1 AND kind = 'execution' ORDER BY seq`,
      [jobId],
    );
    expect(rows.map(({ logSeq }) => logSeq)).toEqual([1, 2, 3, 4, 7, 6, 5, null, null]);
  });

  it('store the lines of concurrent requests once, and the timeline without a gap', async () => {
    const jobId = await freshJob();
    const entry = (seq: number) => ({ jobId, level: 'info' as const, message: `line ${seq}`, timestamp: 1, seq });
    const batch = (from: number) => Array.from({ length: 20 }, (_, at) => entry(from + at));
    const answers = await Promise.all(
      [1, 11, 21, 1, 31, 11, 41].map((from) => appendJobLogs(lab.harness.db, reporter, batch(from))),
    );
    expect(answers.reduce((sum, { accepted }) => sum + Number(accepted), 0)).toBe(60);
    const rows = await lab.query('SELECT seq FROM timeline_entry WHERE agent_id = $1 ORDER BY seq', [reporter.agentId]);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + 1));
  });

  it('reject a whole request of log lines if one of the jobs is not the caller’s', async () => {
    const theirs = await freshJob();
    const jobId = await freshJob();
    const log = { level: 'info' as const, message: 'x', timestamp: 1, seq: 1 };
    await expect(
      appendJobLogs(lab.harness.db, reporter, [
        { jobId, ...log },
        { jobId: theirs, ...log },
      ]),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await lab.query(`SELECT FROM timeline_entry WHERE job_id = $1 AND kind = 'execution'`, [jobId])).toEqual([]);
  });

  it('count as activity of the agent while the job runs: signs of life, steps and logs, but no late reports', async () => {
    const jobId = await freshJob();
    await report({ jobId });
    const forget = () =>
      lab.query(
        `UPDATE agent SET last_activity_at = now() - interval '1 minute', last_activity = 'long ago'
                 WHERE id = $1`,
        [reporter.agentId],
      );
    const said = async () =>
      (await lab.query('SELECT last_activity AS it FROM agent WHERE id = $1', [reporter.agentId]))[0].it as string;
    const log = { jobId, level: 'info' as const, message: 'm', timestamp: 1 };
    const callbacks: [string, () => Promise<unknown>][] = [
      ['a job’s sign of life', () => report({ jobId, status: 'running' })],
      ['a job’s step', () => step({ jobId, stepOrder: 1, status: 'running' })],
      ['a job’s log', () => appendJobLogs(lab.harness.db, reporter, [log])],
    ];
    for (const [what, callback] of callbacks) {
      await forget();
      await callback();
      expect(await said()).toBe(what);
    }
    // Within the resolution of the activity time, the first activity stays.
    await report({ jobId, status: 'running' });
    expect(await said()).toBe('a job’s log');
    await report({ jobId, status: 'completed' });
    await forget();
    await report({ jobId, status: 'running' });
    await step({ jobId, stepOrder: 2, status: 'passed' });
    expect(await said()).toBe('long ago');
  });

  it('count a claim once for its job, with its newest outcome', async () => {
    const jobId = await freshJob();
    const claims = (...given: [string, 'eob_uploaded' | 'no_eob_found' | 'failed'][]) =>
      applyClaimResults(lab.harness.db, reporter, {
        jobId,
        claims: given.map(([claimId, outcome]) => ({ claimId, outcome })),
        signedAt,
      });
    expect(await claims(['A', 'eob_uploaded'], ['B', 'failed'])).toEqual({
      accepted: 2,
      claims: { attempted: 2, eobUploaded: 1, noEobFound: 0, failed: 1 },
    });
    expect(await claims(['A', 'eob_uploaded'])).toMatchObject({ accepted: 0, claims: { attempted: 2 } });
    expect(await claims(['B', 'failed'], ['B', 'no_eob_found'])).toEqual({
      accepted: 1,
      claims: { attempted: 2, eobUploaded: 1, noEobFound: 1, failed: 0 },
    });
    await Promise.all(Array.from({ length: 10 }, (_, at) => claims([`C${at % 3}`, 'failed'])));
    expect(await read(jobId)).toMatchObject({ claimsAttempted: 5, claimsFailed: 3 });
  });

  it('identify a claim by its id and its NPI, and store the outcome that was signed later, in any order', async () => {
    const jobId = await freshJob();
    const at = (seconds: number) => new Date(signedAt.getTime() + seconds * 1000);
    const say = (outcome: 'eob_uploaded' | 'failed', npi: string | undefined, seconds: number) =>
      applyClaimResults(lab.harness.db, reporter, {
        jobId,
        claims: [{ claimId: 'A', npi, outcome }],
        signedAt: at(seconds),
      });
    await say('failed', '1234567893', 1);
    await say('failed', '1234567894', 1);
    expect(await say('failed', undefined, 1)).toMatchObject({ accepted: 1, claims: { attempted: 3, failed: 3 } });
    expect(await say('eob_uploaded', undefined, 9)).toMatchObject({ accepted: 1, claims: { attempted: 3, failed: 2 } });
    // The same outcome is signed again later, so a report that was signed in between is older.
    expect(await say('eob_uploaded', undefined, 20)).toMatchObject({ accepted: 0 });
    expect(await say('failed', undefined, 15)).toEqual({
      accepted: 0,
      claims: { attempted: 3, eobUploaded: 1, noEobFound: 0, failed: 2 },
    });
  });

  it('lead to the same state in any order, however often each arrives', async () => {
    const usage = { provider: 'openai', model: 'm', inputTokens: 10, outputTokens: 2, costUsd: 0.25 };
    type Call = (jobId: string) => Promise<unknown>;
    const calls: Call[] = [
      (jobId) => report({ jobId, status: 'running', seq: 1 }),
      (jobId) => report({ jobId, status: 'running', progress: 20, seq: 2 }),
      (jobId) => step({ jobId, stepOrder: 1, name: 'open', status: 'running', seq: 3 }),
      (jobId) => step({ jobId, stepOrder: 1, name: 'open', status: 'running', seq: 4, usage }),
      (jobId) => step({ jobId, stepOrder: 1, name: 'open', status: 'passed', seq: 5, metadata: { npi: '1' } }),
      (jobId) => step({ jobId, stepOrder: 2, name: 'read', status: 'running', seq: 6 }),
      (jobId) => step({ jobId, stepOrder: 2, name: 'read', status: 'failed', seq: 7, error: 'no page' }),
      (jobId) =>
        appendJobLogs(lab.harness.db, reporter, [
          { jobId, level: 'info', message: 'one', timestamp: 1, seq: 1 },
          { jobId, level: 'info', message: 'two', timestamp: 1, seq: 2 },
        ]),
      (jobId) =>
        applyClaimResults(lab.harness.db, reporter, { jobId, claims: [{ claimId: 'A', outcome: 'failed' }], signedAt }),
      (jobId) => report({ jobId, status: 'failed', error: 'exit code 1', seq: 8 }),
    ];
    const order = fc.tuple(
      fc.shuffledSubarray([...calls.keys()], { minLength: calls.length }),
      fc.array(fc.nat({ max: calls.length - 1 }), { maxLength: 8 }),
    );
    const endOf = async (sequence: number[]) => {
      const jobId = await freshJob();
      for (const at of sequence) await calls[at]!(jobId);
      const { status, error, claimsAttempted, stepsTotal, stepsFailed } = await read(jobId);
      const page = { limit: 50, after: null };
      const steps = await listSteps(lab.harness.db, lab.organizationId, { jobId, page });
      const logs = await lab.query(
        `SELECT message FROM timeline_entry WHERE job_id = $1 AND kind = 'execution' ORDER BY log_seq`,
        [jobId],
      );
      const [{ events }] = await lab.query('SELECT count(*) AS events FROM usage_event WHERE job_id = $1', [jobId]);
      return { status, error, claimsAttempted, stepsTotal, stepsFailed, steps, logs, events };
    };
    const expected = await endOf([...calls.keys()]);
    expect(expected).toMatchObject({ status: 'failed', stepsTotal: 2, stepsFailed: 1, events: 1, claimsAttempted: 1 });
    await fc.assert(
      fc.asyncProperty(order, async ([shuffled, repeats]) => {
        const sequence = [...shuffled];
        for (const repeat of repeats) sequence.splice(repeat * 2, 0, repeat);
        expect(await endOf(sequence)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
    expect(await unequalCounters(lab.harness.db)).toEqual([]);
  });
});
