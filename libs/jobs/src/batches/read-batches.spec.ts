import { makeJob } from '@muster/testing';
import { newId } from '@muster/platform';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { findBatch } from './read-batches';

describe('the figures of a batch', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  it('a row of a batch is counted with its latest attempt, and costs as much as all of its attempts', async () => {
    const { organizationId, workflowId, agentId, harness } = fixture;
    const batchId = newId();
    await fixture.query(
      `INSERT INTO batch (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by)
       VALUES ($1, $2, $3, 1, 5, 0, 'test')`,
      [batchId, organizationId, workflowId],
    );
    const statuses = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
    const run = { organizationId, workflowId, agentId, batchId };
    for (const [at, status] of statuses.entries()) {
      const figures = (factor: number) => ({
        claimsAttempted: factor * (at + 10),
        claimsEobUploaded: factor * (at + 5),
        claimsNoEobFound: factor * (at + 3),
        claimsFailed: factor * 2,
        totalCostMicros: factor * 7,
      });
      const { id: retryOf } = await makeJob(harness.db, { ...run, ...figures(100), status: 'failed' });
      await makeJob(harness.db, { ...run, ...figures(1), status, retryOf });
    }
    expect(await findBatch(harness.db, organizationId, batchId)).toMatchObject({
      ...{ queued: 1, running: 1, completed: 1, failed: 1, cancelled: 1 },
      ...{ claimsAttempted: 60, claimsEobUploaded: 35, claimsNoEobFound: 25, claimsFailed: 10 },
      costMicros: 5 * 7 * 101,
    });
  });
});
