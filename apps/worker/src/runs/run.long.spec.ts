// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/runs/run.spec.ts
import { FakeService } from '../testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

describe('A run', () => {
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

  it('all reports of a run contain the id and the trace of the request that caused the run', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const script = `
import muster, os
muster.result({"id": os.environ["MUSTER_REQUEST_ID"], "trace": os.environ["TRACEPARENT"]})
with open("a.txt", "w") as file:
    file.write("a")
muster.artifact("a.txt")
muster.claim("C-1", "failed")
with muster.step("one"):
    print("two")
`;
    const run = buildRunCommand(script, {}, { MUSTER_REQUEST_ID: 'asked-for', TRACEPARENT: traceparent });
    expect(await service.pushCommand(run)).toBe(202);
    const { jobId } = run;
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(jobId));
    expect(terminal.result).toEqual({ id: 'asked-for', trace: traceparent });
    const reports = service.requests.filter((h) => h.text.includes(jobId) && !h.path.includes('heartbeat'));
    expect(new Set(reports.map(({ path }) => path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+/g, '*')))).toEqual(
      new Set(['/api/job-webhook', '/api/job-logs', '/api/agents/*/step-status', '/api/agents/*/uploads']),
    );
    for (const { headers } of reports) expect(headers).toMatchObject({ 'x-request-id': 'asked-for', traceparent });
    const claims = service.listAccepted(`/api/jobs/${jobId}/claim-results`);
    expect(claims.map(({ headers }) => headers['x-request-id'])).toEqual(['asked-for']);

    const snippet = buildCommand('snippet', { code: 'import os\nprint(os.environ["MUSTER_REQUEST_ID"])' });
    expect(await service.pushCommand({ ...snippet, env: { MUSTER_REQUEST_ID: 'another' } })).toBe(202);
    const result = await service.waitUntil('the result', () => service.findResult(snippet.commandId));
    expect(result).toMatchObject({ status: 'success', output: 'another\n' });
    expect(result).not.toHaveProperty('origin');
    const report = service.requests.find(({ path }) => path.endsWith(`${snippet.commandId}/result`));
    expect(report?.headers).toMatchObject({ 'x-request-id': 'another' });
  });

  it('values that JSON or the service does not accept are replaced in the reports of a run', async () => {
    const run = buildRunCommand(`
import muster
with muster.step("a\\0b \\ud800", metadata={"nan": float("nan"), 1: {2, 2}, "type": "claim_result", "large": "x" * 100000}): pass
muster.log("info", "a\\0b")
print("c\\0d")
`);
    await service.pushCommand(run);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
    expect(service.listSteps(run.jobId)[0]).toMatchObject({
      name: 'a\ufffdb \ufffd',
      metadata: { nan: null, 1: [2], type: 'claim_result', cut: true },
    });
    expect(
      service
        .listLogs(run.jobId)
        .map(({ message }) => message)
        .sort(),
    ).toEqual(['a\ufffdb', 'c\ufffdd']);
  });

  it('a failed run reports the last line of stderr, the exit code and the last 20 lines', async () => {
    const run = buildRunCommand('import sys\nfor n in range(30): print("line", n, file=sys.stderr)\nsys.exit(7)');
    await service.pushCommand(run);
    const { status, error } = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(status).toBe('failed');
    expect(error).toBe(
      ['line 29', 'exit code 7', ...Array.from({ length: 20 }, (_, n) => `line ${n + 10}`)].join('\n'),
    );
  });
});
