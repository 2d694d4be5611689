import { randomUUID } from 'node:crypto';
import { type HttpClient, waitFor } from '@muster/testing';
import { openPracticeOrganization, removeAllAgents } from './shared-service';

jest.setTimeout(240_000);

const script = `
import muster, os, time
count = int(os.environ["COUNT"])
outcomes = ["eob_uploaded", "no_eob_found", "failed"]
muster.run_summary(
    "front desk",
    worker_key="eob-download",
    started_at=time.time() - 600,
    finished_at=time.time(),
    claims=[
        {"claim_id": "C%d" % n, "npi": 1234567893, "outcome": outcomes[n % 3], "processing_seconds": 0.25}
        for n in range(count)
    ],
    stop_events=[{"reason": "list_empty"}],
)
`;

describe('a run of a real worker that reports a batch summary', () => {
  let admin: HttpClient;

  beforeAll(async () => {
    admin = (await openPracticeOrganization()).api;
  });
  afterAll(() => removeAllAgents(admin));

  const waitForRunEndAndCost = (jobId: string) =>
    waitFor(
      'the end of the run and its cost',
      async () => {
        const { body } = await admin.get(`/api/jobs/${jobId}`);
        return body.finishedAt && body.totalCostUsd !== null && body;
      },
      90_000,
    );

  it('a batch summary creates a batch, its cost and a session; a second summary replaces the batch, the cost and the session', async () => {
    const { agent } = (await admin.post('/api/agents', { name: randomUUID(), provider: 'local' })).body;
    await waitFor(
      'the agent to be online',
      async () => (await admin.get(`/api/agents/${agent.id}`)).body.status === 'online',
      60_000,
    );
    const workflow = (await admin.post('/api/workflows', { name: 'Report', script, variables: ['COUNT'] })).body;
    const launch = { agentId: agent.id, workflowId: workflow.id };
    for (const count of [2000, 3]) {
      const { jobId } = (await admin.post('/api/jobs/launch', { ...launch, variables: { COUNT: `${count}` } })).body;
      const job = await waitForRunEndAndCost(jobId);
      expect([job.status, job.error]).toEqual(['completed', null]);
      const { batches } = (await admin.get('/api/pilot/batches')).body;
      const computeThird = (remainder: number) => Math.floor((count + remainder) / 3);
      expect(batches).toEqual([
        expect.objectContaining({
          batchId: 'front desk',
          jobId,
          workerKey: 'eob-download',
          claims: {
            attempted: count,
            eobUploaded: computeThird(2),
            noEobFound: computeThird(1),
            failed: computeThird(0),
          },
          processingSeconds: count / 4,
          totalCostUsd: job.totalCostUsd,
          stopEvents: 1,
        }),
      ]);
      const detail = (await admin.get('/api/pilot/batches/front%20desk')).body;
      expect(detail.claimResults).toHaveLength(count);
      expect(detail.claimResults.at(-1)).toMatchObject({
        id: `front desk:claim:${count - 1}`,
        claimId: `C${count - 1}`,
      });
      const session = await waitFor('the session of this report', async () => {
        const { body } = await admin.get('/api/process-library/sessions/front%20desk');
        return body.jobId === jobId && body;
      });
      expect(session.headline).toMatch(/claims in 10 minutes: .*; stopped: list_empty\.$/);
      expect(session.timeline.map(({ kind }: { kind: string }) => kind).sort()).toEqual(
        [...Array(count).fill('claim'), 'finished', 'started', 'stop'].sort(),
      );
    }
  });
});
