import { appendTimeline } from '@muster/timeline';
import { runBehindLock } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { deleteJob } from './delete-job';

describe('deleteJob', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  it('a log line that is committed while the deletion of its job waits is deleted too', async () => {
    const { harness, caller, organizationId, agentId } = fixture;
    const jobId = await fixture.dispatched();
    await applyJobReport(harness.db, { organizationId, agentId }, { jobId, status: 'completed' });
    const forget = () => Promise.resolve();
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM job_log_seen WHERE job_id = $1 FOR UPDATE', [jobId]),
      () => [
        harness.db.transaction({ organizationId }, (tx) => deleteJob(tx, caller, jobId, { now: new Date(), forget })),
      ],
      (tx) => {
        appendTimeline(tx, { organizationId, agentId }, [{ kind: 'execution', jobId, message: 'the last line' }]);
        return Promise.resolve();
      },
    );
    expect(await fixture.query('SELECT FROM job WHERE id = $1', [jobId])).toEqual([]);
    expect(
      await fixture.query(`SELECT message FROM timeline_entry WHERE job_id = $1 AND kind = 'execution'`, [jobId]),
    ).toEqual([]);
  });
});
