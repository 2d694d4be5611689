import { runBehindLock } from '@muster/testing';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { cancelJob } from './cancel-job';
import { cancelJobsOfStoppedAgent } from './cancel-jobs-of-stopped-agent';
import { finishJob } from './finish-job';

describe('a cancel that waits for a row', () => {
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

  const cancel = () =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      cancelJob(tx, fixture.caller, jobId, { now: new Date() }),
    );

  it('a run that completes while its cancel waits is not cancelled', async () => {
    const { organizationId } = fixture;
    const cancelled = runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      () => [cancel()],
      (tx) => finishJob(tx, { organizationId, jobId, to: 'completed', source: 'worker' }),
    );
    await expect(cancelled).rejects.toMatchObject({ code: 'conflict' });
    const commands = await fixture.query(`SELECT FROM agent_command WHERE job_id = $1 AND kind = 'stop_job'`, [jobId]);
    expect(commands).toEqual([]);
  });

  it('a run that is being cancelled does not end if its machine is online again while the end waits for the agent', async () => {
    await cancel();
    await fixture.query("UPDATE agent SET status = 'stopped' WHERE id = $1", [agentId]);
    const ended = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]),
      () => [cancelJobsOfStoppedAgent(fixture.harness.db, agentId)],
      (tx) => tx.execute("UPDATE agent SET status = 'online' WHERE id = $1", [agentId]),
    );
    expect(ended).toEqual([{ cancelled: 0 }]);
    expect(await fixture.query('SELECT status FROM job WHERE id = $1', [jobId])).toEqual([{ status: 'queued' }]);
  });
});
