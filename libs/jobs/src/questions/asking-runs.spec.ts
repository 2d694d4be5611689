import type { AskQuestionBody } from '@muster/contracts';
import { MachinesModule, stopIdleAgents } from '@muster/machines';
import { finishJob } from '../ends/finish-job';
import { failRunsOverBudget } from '../ends/stop-over-budget';
import { applyJobReport } from '../reports/apply-job-report';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { askQuestion } from './ask-question';

describe('a run that waits for a person', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture({}, [MachinesModule]);
  });
  afterAll(() => fixture.close());

  /** Creates a run that asks, on a machine that costs 0.12 USD per hour. */
  const startAskingRun = async (input: object = {}) => {
    const { harness, organizationId } = fixture;
    const agentId = await fixture.makeOnlineAgent();
    const jobId = await fixture.dispatched({ agentId, ...input });
    const reporter = { organizationId, agentId };
    await applyJobReport(harness.db, reporter, { jobId, status: 'running' } as never);
    const body = { questionKey: 'code', question: 'The code?', kind: 'code', timeoutSeconds: 36_000 };
    const { question } = await askQuestion(harness.db, reporter, jobId, body as AskQuestionBody);
    return { agentId, jobId, questionId: question.questionId };
  };
  const readState = async ({ jobId, questionId }: { jobId: string; questionId: string }) => {
    const [row] = await fixture.query(
      `SELECT j.status, j.error_code AS code, q.status AS question FROM job j JOIN question q ON q.id = $2
       WHERE j.id = $1`,
      [jobId, questionId],
    );
    return row;
  };

  it('the machine time of a run that waits for a person counts against its budget, and the end of the budget cancels its question', async () => {
    const [over, within] = [await startAskingRun({ maxCostUsd: 0.1 }), await startAskingRun({ maxCostUsd: 0.1 })];
    await fixture.query(`UPDATE job SET started_at = muster_now() - interval '59 minutes' WHERE id = $1`, [over.jobId]);
    await failRunsOverBudget(fixture.harness.db, { limit: 100 });
    expect(await readState(over)).toEqual({ status: 'failed', code: 'budget_exceeded', question: 'cancelled' });
    expect(await readState(within)).toEqual({ status: 'running', code: null, question: 'open' });
  });

  it('a machine is not stopped as idle while its run waits for a person, however long nothing else happens', async () => {
    const { harness, organizationId } = fixture;
    const { agentId, jobId } = await startAskingRun();
    const stopIdle = async () => {
      await fixture.query(
        `UPDATE agent SET provider = 'ec2', status_since = muster_now() - interval '10 hours',
           last_activity_at = muster_now() - interval '9 hours', last_seen = muster_now() WHERE id = $1`,
        [agentId],
      );
      const { looked } = await stopIdleAgents(harness.db, { now: new Date() });
      const [agent] = await fixture.query('SELECT status FROM agent WHERE id = $1', [agentId]);
      return [agent.status, looked];
    };
    // The sweep leaves machines with work out, so that many of them do not fill its pages.
    expect(await stopIdle()).toEqual(['online', 0]);
    const end = { organizationId, jobId, to: 'completed', source: 'worker', error: null } as const;
    await harness.db.transaction({ organizationId }, (tx) => finishJob(tx, end));
    expect(await stopIdle()).toEqual(['stopping', 1]);
  });
});
