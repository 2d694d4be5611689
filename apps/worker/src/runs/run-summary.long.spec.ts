// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/runs/run-summary.spec.ts
import { FakeService } from '../testing/fake-service.harness';
import { buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

const path = '/api/pilot/run-summary';

describe('A run’s summary', () => {
  let service: FakeService;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
    await worker.start();
  });
  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const listDeliveredSummaries = (jobId: string) =>
    service.listAccepted(path).filter(({ text }) => text.includes(jobId));
  const waitForRunEnd = (jobId: string) => service.waitUntil('the end', () => service.findTerminalReport(jobId));

  it('a run’s summary is sent before the run’s end, and retried even if the service has no summaries yet', async () => {
    const ways = [{ status: 503 }, 'hang up' as const, { status: 404, body: { code: 'not_found' } }, { status: 405 }];
    service.interfere = (request) => (request.path === path ? ways.shift() : undefined);
    const run = buildRunCommand(
      'import muster\nmuster.run_summary("b", claims=[{"claim_id": "c", "outcome": "failed"}])',
    );
    await service.pushCommand(run);
    expect(await waitForRunEnd(run.jobId)).toMatchObject({ status: 'completed' });
    expect(ways).toEqual([]);
    expect(listDeliveredSummaries(run.jobId)).toHaveLength(1);
    expect(service.requests.findIndex((request) => request.body?.status === 'completed')).toBeGreaterThan(
      service.requests.findLastIndex((request) => request.path === path),
    );
  });

  it('a run’s summary is dropped and reported as missing if the service refuses it with a specific code', async () => {
    const batchIds: string[] = [];
    service.interfere = (request) => {
      if (request.path !== path) return undefined;
      batchIds.push(request.body.batchSummary.batchId);
      return {
        status: 404,
        body: {
          code: 'JOB_NOT_FOUND',
          detail: 'The organization has no job with this id. List the jobs to find the id.',
        },
      };
    };
    const run = buildRunCommand(
      'import muster\nmuster.run_summary("gone")\nmuster.run_summary("gone too")\nmuster.log("info", "on")',
    );
    await service.pushCommand(run);
    expect(await waitForRunEnd(run.jobId)).toMatchObject({
      status: 'completed',
      incomplete: ['gone', 'gone too'].map((batchId) => ({
        kind: 'run_summary',
        reason: `summary of the batch ${batchId}: answered 404: The organization has no job with this id. List the jobs to find the id.`,
      })),
    });
    expect(batchIds).toEqual(['gone', 'gone too']);
    const errors = service.listLogs(run.jobId).filter(({ level }) => level === 'error');
    expect(errors.map(({ message }) => message)).toEqual(
      ['gone', 'gone too'].map(
        (batchId) =>
          `Not delivered, and missing from this run (run_summary): summary of the batch ${batchId}: answered 404: The organization has no job with this id. List the jobs to find the id.`,
      ),
    );
  });

  it('a run’s summary is delivered by the next worker if the first worker was killed before', async () => {
    service.interfere = (request) => (request.path === path ? { status: 503 } : undefined);
    const claims = 'claims=[{"claim_id": "c%d" % n, "outcome": "failed"} for n in range(5000)]';
    const run = buildRunCommand(`import muster\nmuster.run_summary("kept", ${claims})`);
    await service.pushCommand(run);
    await service.waitUntil('an attempt', () => service.requests.find((request) => request.path === path));
    await worker.kill();
    service.interfere = () => undefined;
    await worker.start();
    await waitForRunEnd(run.jobId);
    expect(
      listDeliveredSummaries(run.jobId).map(({ body }) => [body.batchSummary.batchId, body.claimResults.length]),
    ).toEqual([['kept', 5000]]);
  });
});
