import { Client } from 'pg';
import { appendJobLogs } from '../reports/append-job-logs';
import { applyJobReport } from '../reports/apply-job-report';
import { applyStepStatus } from '../reports/apply-step-status';
import { type JobsFixture, openJobsFixture } from './jobs.harness';

jest.setTimeout(60_000);

const compareLeadingCounts = (a: string, b: string) => parseInt(a, 10) - parseInt(b, 10);

describe('the database calls of a run', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  /**
   * Counts the statements and the round trips of some work. A batch of `Database` is one round trip with several
   * statements; a query of TypeORM is one round trip with one statement.
   */
  async function countRoundTrips(work: () => Promise<unknown>): Promise<string> {
    const sent: number[] = [];
    const { query } = Client.prototype;
    const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: any[]) {
      const statements: { text: string }[] = args[0].statements ?? [{ text: '' }];
      // Statements that the process executes on timers are not counted: those that publish earlier messages and read
      // the database's clock.
      if (
        !/^\s*(UPDATE outbox|DELETE FROM outbox|SELECT extract\(epoch FROM clock_timestamp)/.test(
          statements.at(-1)!.text,
        )
      )
        sent.push(statements.length);
      return (query as any).apply(this, args);
    } as never);
    await work().finally(() => spy.mockRestore());
    return `${sent.reduce((sum, count) => sum + count, 0)} statements, ${sent.length} round trips`;
  }

  it('the service calls of a run have a fixed number of SQL statements and round trips', async () => {
    const { harness, organizationId, agentId, dispatch } = fixture;
    const reporter = { organizationId, agentId };
    let jobId = '';
    const reportStatus = (status: 'running' | 'completed') => applyJobReport(harness.db, reporter, { jobId, status });
    const reportStep = () => applyStepStatus(harness.db, reporter, { jobId, stepOrder: 1, status: 'running' });
    const buildLogLine = () => ({ jobId, seq: 1, level: 'info' as const, message: 'm', timestamp: 1 });
    const countRoundTripsOfRun = async () => ({
      launch: await countRoundTrips(async () => {
        jobId = await fixture.launch();
      }),
      dispatch: await countRoundTrips(() => dispatch.startNextJob(agentId)),
      begin: await countRoundTrips(() => reportStatus('running')),
      heartbeat: await countRoundTrips(() => reportStatus('running')),
      step: await countRoundTrips(reportStep),
      log: await countRoundTrips(() => appendJobLogs(harness.db, reporter, [buildLogLine()])),
      end: await countRoundTrips(() => reportStatus('completed')),
    });
    await countRoundTripsOfRun();
    // Other work of the process, such as a notification that arrives late, only adds to a count. So the smallest of
    // three counts is compared.
    const runs = [await countRoundTripsOfRun(), await countRoundTripsOfRun(), await countRoundTripsOfRun()];
    const findLeastCounts = (phase: keyof (typeof runs)[0]) =>
      runs.map((each) => each[phase]).sort(compareLeadingCounts)[0];
    expect(
      Object.fromEntries(Object.keys(runs[0]!).map((phase) => [phase, findLeastCounts(phase as 'begin')])),
    ).toEqual({
      launch: '8 statements, 2 round trips',
      dispatch: '12 statements, 3 round trips',
      begin: '2 statements, 1 round trips',
      heartbeat: '2 statements, 1 round trips',
      step: '6 statements, 2 round trips',
      log: '2 statements, 1 round trips',
      end: '11 statements, 2 round trips',
    });
  });
});
