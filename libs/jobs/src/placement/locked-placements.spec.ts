import { acquireAdvisoryLock } from '@muster/database';
import { runBehindLock, runBesideLock } from '@muster/testing';
import { PlacementFixture } from './placement.harness';
import { setReasonOfTargetGroup, setReasonOfUnplacedJob } from './set-reasons';
import { wakeAgentsForJobs } from './wake-agents';

describe('the placement of jobs without an agent, while another transaction holds a lock', () => {
  let fixture: PlacementFixture;

  beforeAll(async () => {
    fixture = await PlacementFixture.openFixture();
  });
  afterAll(() => fixture.closeFixture());
  beforeEach(() => fixture.deleteJobsAndAgents());

  it('two concurrent decisions wake one agent for one job', async () => {
    const { jobs, parts } = fixture;
    await jobs.query('UPDATE organization_settings SET vm_auto_wake_on_job = true');
    for (const provider of ['docker', 'docker'] as const) await fixture.makeAgent({ status: 'stopped', provider });
    await fixture.launchWithLabels();
    const wake = () => wakeAgentsForJobs(jobs.harness.db, jobs.organizationId, parts);
    const wakes = await runBehindLock(
      jobs.harness.db,
      (tx) => acquireAdvisoryLock(tx, 'placement wakes', jobs.organizationId),
      () => [wake(), wake()],
    );
    expect(wakes.sort()).toEqual([0, 1]);
    expect(await jobs.query("SELECT FROM agent_wake WHERE state = 'open'")).toHaveLength(1);
  });

  it.each([
    [
      'a job',
      (jobId: string) =>
        fixture.runInTransaction((tx) => {
          setReasonOfUnplacedJob(tx, { jobId, waiting: 'agent_busy' });
          return Promise.resolve();
        }),
    ],
    [
      'the jobs with the same labels',
      (_: string, targetGroup: string) =>
        fixture.runInTransaction((tx) => {
          const { organizationId } = fixture.jobs;
          setReasonOfTargetGroup(tx, { organizationId, targetGroup, waiting: 'agent_busy' });
          return Promise.resolve();
        }),
    ],
  ])('the waiting reason of %s is not set while the row is locked', async (_, setReason) => {
    const { query, harness } = fixture.jobs;
    await fixture.makeAgent();
    const jobId = await fixture.launchWithLabels();
    const read = () =>
      query<{ targetGroup: string; waitingReason: string | null }>(
        'SELECT target_group, waiting_reason FROM job WHERE id = $1',
        [jobId],
      );
    const [{ targetGroup, waitingReason: before }] = (await read()) as [{ targetGroup: string; waitingReason: string }];
    expect(before).not.toBe('agent_busy');
    await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      () => setReason(jobId, targetGroup),
    );
    expect(await read()).toMatchObject([{ waitingReason: before }]);
    await setReason(jobId, targetGroup);
    expect(await read()).toMatchObject([{ waitingReason: 'agent_busy' }]);
  });
});
