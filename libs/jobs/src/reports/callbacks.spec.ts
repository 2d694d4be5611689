import type { JobWebhookBody, StepStatusBody } from '@muster/contracts';
import { findUnequalCounters } from '@muster/pricing';
import fc from 'fast-check';
import { appendJobLogs } from './append-job-logs';
import { applyClaimResults } from './apply-claim-results';
import { applyJobReport } from './apply-job-report';
import { applyStepStatus } from './apply-step-status';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { listSteps } from '../lists/list-steps';

jest.setTimeout(120_000);

const signedAt = new Date();

describe('callbacks of a job', () => {
  let fixture: JobsFixture;
  let db: JobsFixture['harness']['db'];
  let reporter: { organizationId: string; agentId: string };

  beforeAll(async () => {
    fixture = await openJobsFixture();
    ({ db } = fixture.harness);
  });
  afterAll(() => fixture.close());

  async function dispatchNewJob(): Promise<string> {
    const agentId = await fixture.makeOnlineAgent();
    reporter = { organizationId: fixture.organizationId, agentId };
    return fixture.dispatched({ agentId });
  }
  const report = (body: JobWebhookBody) => applyJobReport(db, reporter, body);
  const step = (body: StepStatusBody) => applyStepStatus(db, reporter, body);
  const read = (id: string) => findJob(db, fixture.organizationId, id);

  it('a job’s reports set its status to running and then to its final status, which no later report changes', async () => {
    const jobId = await dispatchNewJob();
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

  it('the end of a job frees its agent, enqueues the agent if a job waits, and writes a usage event', async () => {
    const lonely = await dispatchNewJob();
    await report({ jobId: lonely, status: 'completed' });
    const looks = `SELECT name FROM outbox WHERE name = 'dispatch-agent' AND payload->>'agentId' = $1`;
    const asLaunched = await fixture.query(looks, [reporter.agentId]);
    const jobId = await dispatchNewJob();
    await fixture.launch({ agentId: reporter.agentId });
    await fixture.query('DELETE FROM outbox');
    expect(asLaunched).toHaveLength(1);
    await report({ jobId, status: 'completed' });
    const [agent] = await fixture.query('SELECT current_job_id FROM agent WHERE id = $1', [reporter.agentId]);
    expect(agent).toEqual({ currentJobId: null });
    const events = await fixture.query('SELECT kind, outcome FROM usage_event WHERE job_id = $1', [jobId]);
    expect(events).toEqual([{ kind: 'run', outcome: 'completed' }]);
    const messages = await fixture.query(
      `SELECT name FROM outbox WHERE payload->>'jobId' = $1 OR payload->>'agentId' = $2 ORDER BY name`,
      [jobId, reporter.agentId],
    );
    expect(messages.map(({ name }) => name)).toEqual(expect.arrayContaining(['dispatch-agent', 'job-finished']));
  });

  it('a job’s cost is booked again if a step’s end time arrives after the job has ended', async () => {
    const jobId = await dispatchNewJob();
    const usage = { provider: 'acme', model: 'm', inputTokens: 1, outputTokens: 1 };
    const startedAt = '2026-03-09T23:59:59.000Z';
    await step({ jobId, stepOrder: 1, status: 'running', seq: 1, startedAt, usage });
    await report({ jobId, status: 'completed' });
    await fixture.query('DELETE FROM outbox');
    const late = { jobId, stepOrder: 1, status: 'passed', seq: 2, finishedAt: '2026-03-10T00:00:01.000Z' } as const;
    expect(await step(late)).toEqual({ accepted: false, reason: 'job_over' });
    const bookings = () => fixture.query(`SELECT name FROM outbox WHERE payload->>'jobId' = $1`, [jobId]);
    expect(await bookings()).toEqual([{ name: 'job-finished' }]);
    await step({ jobId, stepOrder: 2, status: 'skipped', seq: 3 });
    expect(await bookings()).toHaveLength(1);
  });

  it('exactly one of fifty concurrent reports of a job’s end is applied', async () => {
    const jobId = await dispatchNewJob();
    const statuses = ['completed', 'failed', 'cancelled'] as const;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => report({ jobId, status: statuses[at % 3]!, error: `end ${at}` })),
    );
    const winners = answers.filter(({ accepted }) => accepted);
    expect(winners).toHaveLength(1);
    expect((await read(jobId)).status).toBe(winners[0]!.status);
    const [{ count }] = await fixture.query('SELECT count(*) FROM usage_event WHERE job_id = $1', [jobId]);
    expect(count).toBe(1);
    expect(await findUnequalCounters(db)).toEqual([]);
  });

  it('reports about another agent’s job are rejected as not_found', async () => {
    const jobId = await dispatchNewJob();
    const other = { organizationId: fixture.organizationId, agentId: fixture.agentId };
    await expect(applyJobReport(db, other, { jobId })).rejects.toMatchObject({ code: 'not_found' });
    await expect(applyJobReport(db, other, { jobId, status: 'failed' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(applyStepStatus(db, other, { jobId, stepOrder: 1, status: 'running' })).rejects.toMatchObject({
      code: 'not_found',
    });
    const log = { jobId, level: 'info' as const, message: 'x', timestamp: 1 };
    await expect(appendJobLogs(db, other, [log])).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      applyClaimResults(db, other, {
        jobId,
        claims: [{ claimId: 'C', outcome: 'failed' }],
        signedAt,
      }),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect((await read(jobId)).status).toBe('queued');
  });

  it('reports do not change a job that was never dispatched', async () => {
    const agentId = await fixture.makeOnlineAgent();
    const jobId = await fixture.launch({ agentId });
    for (const status of [undefined, 'running', 'completed', 'failed', 'cancelled'] as const) {
      const answer = await applyJobReport(db, { organizationId: fixture.organizationId, agentId }, { jobId, status });
      expect(answer).toEqual({ accepted: false, reason: 'not_dispatched', status: 'queued' });
    }
    expect(await read(jobId)).toMatchObject({ status: 'queued', startedAt: null, finishedAt: null });
  });

  it('a job’s progress by percentage and by steps is recorded in its agent’s timeline', async () => {
    const jobId = await dispatchNewJob();
    const progressEntries = async () => {
      const rows = await fixture.query<{ data: any }>(
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
    expect(await progressEntries()).toEqual([
      ['running', 0, 0],
      ['running', 100, 1],
      ['running', 40, 1],
      ['completed', 100, 1],
    ]);
  });

  it('a screenshot key of the job’s organization is stored, and any other key is rejected', async () => {
    const jobId = await dispatchNewJob();
    const own = `artifacts/${fixture.organizationId}`;
    for (const screenshotKey of [`${own}/../../other/x.png`, `${own}//x.png`, 'x.png', '../x.png']) {
      for (const status of ['running', 'completed'] as const) {
        await expect(report({ jobId, status, screenshotKey })).rejects.toMatchObject({ code: 'invalid_payload' });
      }
    }
    await report({ jobId, status: 'running', screenshotKey: `${own}/a.png` });
    expect(await read(jobId)).toMatchObject({ status: 'running', screenshotKey: `${own}/a.png` });
  });

  it('a log entry with a seq is stored once, and one without a seq each time it arrives', async () => {
    const jobId = await dispatchNewJob();
    const entry = (seq?: number) => ({
      jobId,
      level: 'info' as const,
      message: `line ${seq}`,
      timestamp: 1_767_225_600,
      seq,
    });
    const append = (...seqs: (number | undefined)[]) => appendJobLogs(db, reporter, seqs.map(entry));
    expect(await append(1, 2, 3)).toEqual({ accepted: 3 });
    expect(await append(2, 3, 4, 4)).toEqual({ accepted: 1 });
    expect(await append(7, 6)).toEqual({ accepted: 2 });
    expect(await append(5, 1)).toEqual({ accepted: 1 });
    expect(await append(undefined, undefined)).toEqual({ accepted: 2 });
    const rows = await fixture.query(
      `SELECT log_seq FROM timeline_entry WHERE job_id = $1 AND kind = 'execution' ORDER BY seq`,
      [jobId],
    );
    expect(rows.map(({ logSeq }) => logSeq)).toEqual([1, 2, 3, 4, 7, 6, 5, null, null]);
  });

  it('log lines of concurrent requests are stored exactly once in the timeline', async () => {
    const jobId = await dispatchNewJob();
    const entry = (seq: number) => ({ jobId, level: 'info' as const, message: `line ${seq}`, timestamp: 1, seq });
    const batch = (from: number) => Array.from({ length: 20 }, (_, at) => entry(from + at));
    const answers = await Promise.all(
      [1, 11, 21, 1, 31, 11, 41].map((from) => appendJobLogs(db, reporter, batch(from))),
    );
    expect(answers.reduce((sum, { accepted }) => sum + Number(accepted), 0)).toBe(60);
    const rows = await fixture.query('SELECT seq FROM timeline_entry WHERE agent_id = $1 ORDER BY seq', [
      reporter.agentId,
    ]);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + 1));
  });

  it('a request with log lines is rejected as a whole if one of the jobs is not the caller’s', async () => {
    const otherJobId = await dispatchNewJob();
    const jobId = await dispatchNewJob();
    const log = { level: 'info' as const, message: 'x', timestamp: 1, seq: 1 };
    await expect(
      appendJobLogs(db, reporter, [
        { jobId, ...log },
        { jobId: otherJobId, ...log },
      ]),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await fixture.query(`SELECT FROM timeline_entry WHERE job_id = $1 AND kind = 'execution'`, [jobId])).toEqual(
      [],
    );
  });

  it('heartbeats, steps and logs of a running job are activity of its agent, but late reports are not', async () => {
    const jobId = await dispatchNewJob();
    await report({ jobId });
    const forget = () =>
      fixture.query(
        `UPDATE agent SET last_activity_at = now() - interval '1 minute', last_activity = 'long ago'
                 WHERE id = $1`,
        [reporter.agentId],
      );
    const lastActivity = async () =>
      (await fixture.query('SELECT last_activity AS it FROM agent WHERE id = $1', [reporter.agentId]))[0].it as string;
    const log = { jobId, level: 'info' as const, message: 'm', timestamp: 1 };
    const callbacks: [string, () => Promise<unknown>][] = [
      ['a job’s sign of life', () => report({ jobId, status: 'running' })],
      ['a job’s step', () => step({ jobId, stepOrder: 1, status: 'running' })],
      ['a job’s log', () => appendJobLogs(db, reporter, [log])],
    ];
    for (const [activity, callback] of callbacks) {
      await forget();
      await callback();
      expect(await lastActivity()).toBe(activity);
    }
    // The last activity is updated at most once in five seconds, so it is still that of the log line.
    await report({ jobId, status: 'running' });
    expect(await lastActivity()).toBe('a job’s log');
    await report({ jobId, status: 'completed' });
    await forget();
    await report({ jobId, status: 'running' });
    await step({ jobId, stepOrder: 2, status: 'passed' });
    expect(await lastActivity()).toBe('long ago');
  });

  it('a claim is counted once for its job, with its newest outcome', async () => {
    const jobId = await dispatchNewJob();
    const claims = (...outcomes: [string, 'eob_uploaded' | 'no_eob_found' | 'failed'][]) =>
      applyClaimResults(db, reporter, {
        jobId,
        claims: outcomes.map(([claimId, outcome]) => ({ claimId, outcome })),
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

  it('a claim is identified by its id and its NPI, and has the outcome that was signed last', async () => {
    const jobId = await dispatchNewJob();
    const at = (seconds: number) => new Date(signedAt.getTime() + seconds * 1000);
    const sign = (outcome: 'eob_uploaded' | 'failed', npi: string | undefined, seconds: number) =>
      applyClaimResults(db, reporter, {
        jobId,
        claims: [{ claimId: 'A', npi, outcome }],
        signedAt: at(seconds),
      });
    await sign('failed', '1234567893', 1);
    await sign('failed', '1234567894', 1);
    expect(await sign('failed', undefined, 1)).toMatchObject({ accepted: 1, claims: { attempted: 3, failed: 3 } });
    expect(await sign('eob_uploaded', undefined, 9)).toMatchObject({
      accepted: 1,
      claims: { attempted: 3, failed: 2 },
    });
    // The same outcome is signed again later, so a report that was signed in between is older.
    expect(await sign('eob_uploaded', undefined, 20)).toMatchObject({ accepted: 0 });
    expect(await sign('failed', undefined, 15)).toEqual({
      accepted: 0,
      claims: { attempted: 3, eobUploaded: 1, noEobFound: 0, failed: 2 },
    });
  });

  it('reports of a job lead to the same state in any order, however often each arrives', async () => {
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
        appendJobLogs(db, reporter, [
          { jobId, level: 'info', message: 'one', timestamp: 1, seq: 1 },
          { jobId, level: 'info', message: 'two', timestamp: 1, seq: 2 },
        ]),
      (jobId) => applyClaimResults(db, reporter, { jobId, claims: [{ claimId: 'A', outcome: 'failed' }], signedAt }),
      (jobId) => report({ jobId, status: 'failed', error: 'exit code 1', seq: 8 }),
    ];
    const order = fc.tuple(
      fc.shuffledSubarray([...calls.keys()], { minLength: calls.length }),
      fc.array(fc.nat({ max: calls.length - 1 }), { maxLength: 8 }),
    );
    const endOf = async (sequence: number[]) => {
      const jobId = await dispatchNewJob();
      for (const at of sequence) await calls[at]!(jobId);
      const { status, error, claimsAttempted, stepsTotal, stepsFailed } = await read(jobId);
      const page = { limit: 50, after: null };
      const steps = await listSteps(db, fixture.organizationId, { jobId, page });
      const logs = await fixture.query(
        `SELECT message FROM timeline_entry WHERE job_id = $1 AND kind = 'execution' ORDER BY log_seq`,
        [jobId],
      );
      const [{ events }] = await fixture.query('SELECT count(*) AS events FROM usage_event WHERE job_id = $1', [jobId]);
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
    expect(await findUnequalCounters(db)).toEqual([]);
  });
});
