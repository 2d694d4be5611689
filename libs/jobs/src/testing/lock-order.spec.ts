import { AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { countDeadlocks } from '@muster/testing';
import { type JobsFixture, openJobsFixture } from './jobs.harness';
import {
  drainAgentAndRuns,
  rebootAgentAndRuns,
  stopAgentAndRuns,
  terminateAgentAndRuns,
} from '../actions/switch-agent';
import { deleteJob } from '../deletion/delete-job';
import { cancelJob } from '../ends/cancel-job';
import { cancelJobsOfStoppedAgent } from '../ends/cancel-jobs-of-stopped-agent';
import { applyJobReport } from '../reports/apply-job-report';

jest.setTimeout(120_000);

const runLimit = 40;

/** `docs/locks.md` defines the order. Each change below locks jobs and their agent. */
describe('changes of the jobs of one agent', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  const runInTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, work);
  const listOpenJobs = () =>
    fixture.query<{ id: string }>(
      `SELECT id FROM job WHERE agent_id = $1 AND status IN ('queued', 'running') ORDER BY command_id NULLS LAST, id`,
      [agentId],
    );
  /** Returns the job that the agent runs, else its next job. */
  const findOrLaunchFirstJob = async () => (await listOpenJobs())[0]?.id ?? fixture.launch({ agentId });
  const findOrLaunchLastJob = async () => (await listOpenJobs()).at(-1)?.id ?? fixture.launch({ agentId });
  const turnAgentOn = () => fixture.query(`UPDATE agent SET status = 'online', drain = NULL WHERE id = $1`, [agentId]);
  const reportEnd = async (status: 'completed' | 'failed') => {
    const { organizationId } = fixture;
    const error = status === 'failed' ? { error: 'the portal refused' } : {};
    await applyJobReport(
      fixture.harness.db,
      { organizationId, agentId },
      { jobId: await findOrLaunchFirstJob(), status, ...error },
    );
  };

  const changes: Record<string, () => Promise<unknown>> = {
    launch: () => fixture.launch({ agentId, maxRetries: 3 }),
    dispatch: () => fixture.dispatch.startNextJob(agentId),
    'cancel of the next job': async () => {
      const id = await findOrLaunchFirstJob();
      return runInTransaction((tx) => cancelJob(tx, fixture.caller, id, { now: new Date() }));
    },
    'cancel of the last job': async () => {
      const id = await findOrLaunchLastJob();
      return runInTransaction((tx) => cancelJob(tx, fixture.caller, id, { now: new Date() }));
    },
    deletion: async () => {
      const id = await findOrLaunchFirstJob();
      return runInTransaction((tx) =>
        deleteJob(tx, fixture.caller, id, { now: new Date(), forget: () => Promise.resolve() }),
      );
    },
    completion: () => reportEnd('completed'),
    'failure with a retry': () => reportEnd('failed'),
    reboot: () => runInTransaction((tx) => rebootAgentAndRuns(tx, fixture.caller, agentId)).finally(turnAgentOn),
    'forced stop': () =>
      runInTransaction((tx) => stopAgentAndRuns(tx, fixture.caller, agentId, { force: true })).finally(turnAgentOn),
    'forced drain': () =>
      runInTransaction((tx) =>
        drainAgentAndRuns(tx, fixture.caller, agentId, { mode: 'now', force: true, now: new Date() }),
      ).finally(turnAgentOn),
    'forced termination': () =>
      runInTransaction((tx) => terminateAgentAndRuns(tx, fixture.caller, agentId, { force: true })).finally(
        turnAgentOn,
      ),
    'confirmed stop': async () => {
      await fixture.query(`UPDATE agent SET status = 'stopped' WHERE id = $1`, [agentId]);
      await cancelJobsOfStoppedAgent(fixture.harness.db, agentId).finally(turnAgentOn);
    },
  };
  const names = Object.keys(changes);
  const pairs = names.flatMap((one, at) => names.slice(at).map((other) => [one, other] as const));

  it.each(pairs)(
    '%s and %s of one agent’s jobs run concurrently without a deadlock or a failure',
    async (one, other) => {
      agentId = await fixture.makeOnlineAgent();
      await fixture.query(`UPDATE agent SET provider = 'ec2' WHERE id = $1`, [agentId]);
      for (const table of ['job', 'usage_event', 'usage_counter']) await fixture.query(`DELETE FROM ${table}`);
      await fixture.query('UPDATE organization_settings SET monthly_run_limit = $2 WHERE organization_id = $1', [
        fixture.organizationId,
        runLimit,
      ]);
      for (let count = 0; count < 3; count += 1) await fixture.launch({ agentId, maxRetries: 3 });
      await fixture.dispatch.startNextJob(agentId);
      const before = await countDeadlocks(fixture.harness.db);
      const results = await Promise.allSettled(Array.from({ length: 6 }, (_, at) => changes[at % 2 ? one : other]!()));
      const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      // A change of a job that another change has just ended is refused.
      expect(failures.filter((failure) => !(failure instanceof AppError))).toEqual([]);
      expect(await countDeadlocks(fixture.harness.db)).toBe(before);
    },
  );
});
