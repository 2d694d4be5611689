import { runBehindLock, runInFullSets } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

describe('concurrent ends of runs', () => {
  let fixture: JobsFixture;
  let agentIds: string[];
  let jobIds: string[];

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    agentIds = [];
    for (let count = 0; count < 5; count += 1) agentIds.push(await fixture.makeOnlineAgent());
    jobIds = await Promise.all(agentIds.map((agentId) => fixture.dispatched({ agentId })));
  });

  const end = (at: number, report: { jobId?: string; status?: 'completed' | 'failed' } = {}) => {
    const { jobId = jobIds[at]!, status = 'completed' } = report;
    const reporter = { organizationId: fixture.organizationId, agentId: agentIds[at]! };
    return applyJobReport(fixture.harness.db, reporter, { jobId, status });
  };
  const completed = { accepted: true, status: 'completed' };
  /** How often each transaction wrote an entry about an end. */
  const ends = () =>
    fixture.query<{ count: number }>(
      `SELECT count(*)::int FROM timeline_entry WHERE job_id = ANY($1) AND data->>'previousStatus' = 'queued'
         AND data->>'status' IN ('completed', 'failed') GROUP BY transaction_id ORDER BY count`,
      [jobIds],
    );
  const facts = async () =>
    (
      await fixture.query(
        `SELECT (SELECT count(*)::int FROM job WHERE id = ANY($1) AND status = 'completed') AS completed,
                (SELECT count(*)::int FROM agent WHERE id = ANY($2) AND current_job_id IS NULL
                   AND dispatched_at IS NULL AND last_activity = 'a run ended') AS released,
                (SELECT count(*)::int FROM agent_command WHERE job_id = ANY($1) AND status = 'success') AS commands,
                (SELECT count(*)::int FROM usage_event WHERE job_id = ANY($1) AND outcome = 'completed') AS usage,
                (SELECT count(*)::int FROM outbox WHERE name = 'job-finished' AND payload->>'jobId' = ANY($1::text[])) AS messages`,
        [jobIds, agentIds],
      )
    )[0];
  const all = { completed: 5, released: 5, commands: 5, usage: 5 };

  it('run ends that are reported while another run ends commit together, each with all of its effects once', async () => {
    const answers = await runInFullSets(() => Promise.all(jobIds.map((_, at) => end(at))));
    expect(answers).toEqual(jobIds.map(() => completed));
    // The first run was ended at once, alone. The reports of the other runs arrived while this was in progress, so they
    // were processed together.
    expect(await ends()).toEqual([{ count: 1 }, { count: 4 }]);
    expect(await facts()).toMatchObject(all);
  });

  it('a run’s end that is reported several times at once is applied once', async () => {
    const answers = await Promise.all([end(0), end(1), end(1), end(1), end(2), end(3), end(4)]);
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(5);
    expect(answers.filter(({ accepted }) => !accepted)).toEqual(
      [1, 2].map(() => ({ accepted: false, reason: 'job_over', status: 'completed' })),
    );
    expect(await facts()).toMatchObject(all);
  });

  it('the ends of runs do not wait for another run whose row a transaction has locked', async () => {
    let besides: Promise<unknown> | undefined;
    const [answer] = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobIds[1]]),
      () => {
        const ending = jobIds.map((_, at) => end(at));
        besides = Promise.all(ending.filter((_, at) => at !== 1));
        return [ending[1]!];
      },
      // The other runs end although the row of this run is still locked.
      () => besides!,
    );
    expect(answer).toEqual(completed);
    expect(await facts()).toMatchObject(all);
  });

  it('reports about an unknown run, another agent’s run and a failed run do not disturb the other run ends', async () => {
    const [first, unknown, other, failed, second] = await Promise.allSettled([
      end(0),
      end(1, { jobId: '00000000-0000-7000-8000-000000000000' }),
      end(2, { jobId: jobIds[4] }),
      end(3, { status: 'failed' }),
      end(4),
    ]);
    expect([first, second, failed]).toEqual(
      [completed, completed, { accepted: true, status: 'failed' }].map((value) => ({ status: 'fulfilled', value })),
    );
    expect([unknown, other]).toMatchObject([1, 2].map(() => ({ reason: { code: 'not_found' } })));
    expect(await ends()).toEqual([{ count: 1 }, { count: 1 }, { count: 1 }]);
    expect(await facts()).toMatchObject({ completed: 2, released: 3, usage: 2 });
  });

  it('each agent starts its next job after the ends of several runs committed together', async () => {
    const next = await Promise.all(agentIds.map((agentId) => fixture.launch({ agentId })));
    await Promise.all(jobIds.map((_, at) => end(at)));
    const outcomes = await Promise.all(agentIds.map((agentId) => fixture.dispatch.startNextJob(agentId)));
    expect(outcomes.map(({ action, jobId }) => [action, jobId])).toEqual(next.map((jobId) => ['start', jobId]));
  });
});
