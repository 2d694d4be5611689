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

  const waitForRunEnd = (jobId: string) => service.waitUntil('the end', () => service.findTerminalReport(jobId));

  it('muster.run_summary() sends a summary in the service’s format, by default for the run’s own batch', async () => {
    const run = buildRunCommand(`
import datetime, muster
muster.run_summary(
    worker_key="eob",
    started_at=1767225600.5,
    finished_at=datetime.datetime(2026, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    claims=[{"claim_id": 17, "npi": 1234567893, "outcome": "eob_uploaded", "processing_seconds": 1.5}],
    stop_events=[{"reason": "list_empty", "at": 1767225601, "detail": {"page": 3}}],
)
muster.run_summary("another", job_id=None)
for wrong in ([{"claim_id": "x", "outcome": "done"}], [{"claim_id": "x", "outcome": "failed"}] * 10001):
    try:
        muster.run_summary("wrong", claims=wrong)
    except ValueError:
        continue
    raise SystemExit("taken")
`);
    const { jobId } = run;
    await service.pushCommand(run);
    expect(await waitForRunEnd(jobId)).toMatchObject({ status: 'completed' });
    expect(service.listAccepted(path).map(({ body }) => body)).toEqual([
      {
        batchSummary: {
          jobId,
          batchId: jobId,
          workerKey: 'eob',
          startedAt: '2026-01-01T00:00:00.500Z',
          finishedAt: '2026-01-01T01:00:00.000Z',
        },
        claimResults: [{ claimId: '17', npi: '1234567893', outcome: 'eob_uploaded', processingSeconds: 1.5 }],
        stopEvents: [{ reason: 'list_empty', at: '2026-01-01T00:00:01.000Z', detail: '{"page": 3}' }],
      },
      { batchSummary: { jobId: null, batchId: 'another' }, claimResults: [], stopEvents: [] },
    ]);
  });
});
