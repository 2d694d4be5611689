import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import {
  runBehindLock,
  type Harness,
  makeAgent,
  makeJob,
  makeOrganization,
  makeWorkflow,
  startHarness,
} from '@muster/testing';
import { unlinkJobFromBatches } from './unlink-job-from-batches';

describe('unlinkJobFromBatches', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a pilot batch keeps its claims if it is reported for another job while its first job is deleted', async () => {
    const { db } = harness;
    const { id: organizationId } = await makeOrganization(db);
    const agent = await makeAgent(db, { organizationId });
    const workflow = await makeWorkflow(db, { organizationId });
    const ends = { organizationId, workflowId: workflow.id, agentId: agent.id, status: 'completed' } as const;
    const [deleted, other] = [await makeJob(db, ends), await makeJob(db, ends)];
    const batchId = newId();
    await db.query(
      'system',
      `INSERT INTO pilot_batch (id, organization_id, batch_id, job_id, worker_key, occurred_at)
       VALUES ($1, $2, 'b', $3, 'w', now())`,
      [batchId, organizationId, deleted.id],
    );
    await db.query(
      'system',
      `INSERT INTO pilot_claim_result (id, pilot_batch_id, organization_id, claim_index, claim_id, outcome)
       VALUES ($1, $2, $3, 0, 'C-1', 'failed')`,
      [newId(), batchId, organizationId],
    );
    await runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM pilot_batch WHERE id = $1 FOR UPDATE', [batchId]),
      () => [db.transaction('system', (tx) => unlinkJobFromBatches(tx, { organizationId, jobId: deleted.id }))],
      (tx) => tx.execute('UPDATE pilot_batch SET job_id = $2 WHERE id = $1', [batchId, other.id]),
    );
    expect(await db.query('system', 'SELECT job_id FROM pilot_batch WHERE id = $1', [batchId])).toEqual([
      { jobId: other.id },
    ]);
    expect(
      await db.query('system', 'SELECT FROM pilot_claim_result WHERE pilot_batch_id = $1', [batchId]),
    ).toHaveLength(1);
  });
});
