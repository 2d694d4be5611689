import { newId } from '@muster/platform';
import { type Harness, type HttpClient, makeApiKey, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { ingest } from '../ingest.harness';

const path = '/api/pilot/run-summary';

describe('replacing a batch', () => {
  let harness: Harness;
  let organizationId: string;
  let organizationKey: HttpClient;

  beforeAll(async () => {
    harness = await startHarness(ingest);
    organizationId = (await makeOrganization(harness.db)).id;
    organizationKey = await createKeyClient(null);
  });
  afterAll(() => harness.close());

  async function createKeyClient(agentId: string | null): Promise<HttpClient> {
    const { secret } = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId });
    return harness.http.withKey(secret);
  }

  const reportBatch = (client: HttpClient, batchId: string, jobId?: string) => {
    const claimResults = [{ claimId: 'A', outcome: 'eob_uploaded' }];
    return client.post(path, { batchSummary: { batchId, ...(jobId && { jobId }) }, claimResults });
  };
  const readStoredBatchId = async (batchId: string) => {
    const rows = await harness.db.query<{ id: string }>('system', 'SELECT id FROM pilot_batch WHERE batch_id = $1', [
      batchId,
    ]);
    return rows[0]?.id;
  };
  const makeAgents = async () => {
    const [own, other] = [await makeJob(harness.db, { organizationId }), await makeJob(harness.db, { organizationId })];
    return { own, other, ownKey: await createKeyClient(own.agentId), otherKey: await createKeyClient(other.agentId) };
  };

  it('an agent’s key cannot replace a batch that another agent or an organization key reported', async () => {
    const { own, ownKey, otherKey } = await makeAgents();
    for (const reporter of [otherKey, organizationKey]) {
      const batchId = newId();
      expect((await reportBatch(reporter, batchId)).status).toBe(201);
      const before = await readStoredBatchId(batchId);
      for (const refused of [await reportBatch(ownKey, batchId), await reportBatch(ownKey, batchId, own.id)]) {
        expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
        expect(refused.body.shape).toBeDefined();
      }
      expect(await readStoredBatchId(batchId)).toBe(before);
      expect((await reportBatch(reporter, batchId)).body).toMatchObject({ replaced: true });
      expect((await reportBatch(organizationKey, batchId)).body).toMatchObject({ replaced: true });
    }
  });

  it('an agent’s key can replace a batch that belongs to one of the agent’s runs', async () => {
    const { own, ownKey } = await makeAgents();
    const batchId = newId();
    expect((await reportBatch(organizationKey, batchId, own.id)).status).toBe(201);
    expect((await reportBatch(ownKey, batchId)).body).toMatchObject({ replaced: true });
  });

  it('an agent’s key cannot replace the batch of another agent’s run, even of a workflow that both agents run', async () => {
    const { own, other, ownKey, otherKey } = await makeAgents();
    const batchId = newId();
    expect((await reportBatch(otherKey, batchId, other.id)).status).toBe(201);
    const before = await readStoredBatchId(batchId);
    const sameWorkflow = await makeJob(harness.db, {
      organizationId,
      agentId: own.agentId,
      workflowId: other.workflowId,
    });
    for (const jobId of [own.id, sameWorkflow.id]) {
      const refused = await reportBatch(ownKey, batchId, jobId);
      expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    }
    expect(await readStoredBatchId(batchId)).toBe(before);
  });

  it('a retry on another machine can replace the batch of an earlier attempt', async () => {
    const { own, other, ownKey, otherKey } = await makeAgents();
    const batchId = newId();
    expect((await reportBatch(otherKey, batchId, other.id)).status).toBe(201);
    const makeRetry = (retryOf: string, agentId: string) =>
      makeJob(harness.db, { organizationId, agentId, retryOf, workflowId: other.workflowId });
    const second = await makeRetry(other.id, other.agentId);
    const third = await makeRetry(second.id, own.agentId);
    expect((await reportBatch(ownKey, batchId)).body.code).toBe('conflict');
    expect((await reportBatch(ownKey, batchId, third.id)).body).toMatchObject({ replaced: true, jobId: third.id });
  });
});
