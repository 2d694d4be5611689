import { FakeService } from '../testing/fake-service.harness';
import { commandOf, runOf, WorkerHarness } from '../testing/worker-process.harness';

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

  it('has the id and the trace of the request that it comes from, and all that it reports sends them on', async () => {
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
    const run = runOf(script, {}, { MUSTER_REQUEST_ID: 'asked-for', TRACEPARENT: traceparent });
    expect(await service.push(run)).toBe(202);
    const { jobId } = run;
    const terminal = await service.until('the end', () => service.terminal(jobId));
    expect(terminal.result).toEqual({ id: 'asked-for', trace: traceparent });
    const reports = service.heard.filter((h) => h.text.includes(jobId) && !h.path.includes('heartbeat'));
    expect(new Set(reports.map(({ path }) => path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+/g, '*')))).toEqual(
      new Set(['/api/job-webhook', '/api/job-logs', '/api/agents/*/step-status', '/api/agents/*/uploads']),
    );
    for (const { headers } of reports) expect(headers).toMatchObject({ 'x-request-id': 'asked-for', traceparent });
    const claims = service.accepted(`/api/jobs/${jobId}/claim-results`);
    expect(claims.map(({ headers }) => headers['x-request-id'])).toEqual(['asked-for']);

    const snippet = commandOf('snippet', { code: 'import os\nprint(os.environ["MUSTER_REQUEST_ID"])' });
    expect(await service.push({ ...snippet, env: { MUSTER_REQUEST_ID: 'another' } })).toBe(202);
    const result = await service.until('the result', () => service.result(snippet.commandId));
    expect(result).toMatchObject({ status: 'success', output: 'another\n' });
    expect(result).not.toHaveProperty('origin');
    const told = service.heard.find(({ path }) => path.endsWith(`${snippet.commandId}/result`));
    expect(told?.headers).toMatchObject({ 'x-request-id': 'another' });
  });

  it('says first that it runs, reports steps, logs, claims, usage and uploads, and last its end', async () => {
    const run = runOf(
      `
import muster, os, sys
print("portal is " + os.environ["PORTAL"], flush=True)
with muster.step("log in", metadata={"page": 1}):
    muster.ai_usage("anthropic", "opus", 10, 20, 0.5)
    muster.ai_usage("anthropic", "opus", 1, 2, 0.25)
muster.ai_usage("anthropic", "haiku", 1, 1, 0.1)
try:
    with muster.step("read claims"):
        raise ValueError("no such claim")
except ValueError:
    pass
for number in range(130):
    muster.claim("claim-%d" % number, "eob_uploaded", npi="123")
muster.log("warning", "from the module")
with open("shot.png", "wb") as file:
    file.write(b"png")
muster.screenshot("shot.png")
os.remove("shot.png")
muster.progress(50, "half")
muster.result({"seen": muster.variables})
muster.run_summary(batch_id="b1", claims=[{"claim_id": "c", "outcome": "failed", "processing_seconds": 3}], stop_events=[])
print("to stderr", file=sys.stderr)
`,
      { variables: { PORTAL: 'x' } },
      { PORTAL: 'x' },
    );
    const { jobId } = run;
    expect(await service.push(run)).toBe(202);
    expect(await service.push(run)).toBe(200);
    const terminal = await service.until('the end', () => service.terminal(jobId));

    expect(terminal).toMatchObject({ status: 'completed', result: { seen: { PORTAL: 'x' } } });
    expect(service.uploads.get(terminal.screenshotKey)?.toString()).toBe('png');
    expect(service.webhooks(jobId)[0]).toEqual({ jobId, status: 'running', seq: 1 });
    const callbacks = service.heard.filter((h) => h.text.includes(jobId) && !h.path.includes('heartbeat'));
    expect(callbacks[0]!.body.status).toBe('running');
    expect(callbacks.at(-1)!.body).toEqual(terminal);

    const steps = service.steps(jobId);
    expect(steps.map(({ stepOrder, name, status }) => [stepOrder, name, status])).toEqual([
      [1, 'log in', 'running'],
      [1, 'log in', 'running'],
      [1, 'log in', 'running'],
      [1, 'log in', 'passed'],
      [2, 'AI usage', 'passed'],
      [3, 'read claims', 'running'],
      [3, 'read claims', 'failed'],
    ]);
    expect(steps[6].error).toBe('ValueError: no such claim');
    expect(steps.filter(({ usage }) => usage).map(({ usage }) => usage.costUsd)).toEqual([0.5, 0.25, 0.1]);
    expect(new Set([...steps, ...service.webhooks(jobId)].map(({ seq }) => seq)).size).toBe(
      steps.length + service.webhooks(jobId).length,
    );
    const claims = service.accepted(`/api/jobs/${jobId}/claim-results`).map((h) => h.body.claimResults.length);
    expect(claims).toEqual([100, 30]);
    const logs = service.logs(jobId);
    expect(logs.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(logs.map(({ level, message }) => `${level} ${message}`).sort()).toEqual([
      'error to stderr',
      'info portal is x',
      'warn from the module',
    ]);
    expect(service.accepted('/api/pilot/run-summary')[0]!.body).toEqual({
      batchSummary: { jobId, batchId: 'b1' },
      claimResults: [{ claimId: 'c', outcome: 'failed', processingSeconds: 3 }],
      stopEvents: [],
    });
  });

  it('may report what JSON or the service cannot take', async () => {
    const run = runOf(`
import muster
with muster.step("a\\0b \\ud800", metadata={"nan": float("nan"), 1: {2, 2}, "type": "claim_result", "large": "x" * 100000}): pass
muster.log("info", "a\\0b")
print("c\\0d")
`);
    await service.push(run);
    expect(await service.until('the end', () => service.terminal(run.jobId))).toMatchObject({ status: 'completed' });
    expect(service.steps(run.jobId)[0]).toMatchObject({
      name: 'a\ufffdb \ufffd',
      metadata: { nan: null, 1: [2], type: 'claim_result', cut: true },
    });
    expect(
      service
        .logs(run.jobId)
        .map(({ message }) => message)
        .sort(),
    ).toEqual(['a\ufffdb', 'c\ufffdd']);
  });

  it('that exits with a code fails with the last line of stderr, the code, and the last lines', async () => {
    const run = runOf('import sys\nfor n in range(30): print("line", n, file=sys.stderr)\nsys.exit(7)');
    await service.push(run);
    const { status, error } = await service.until('the end', () => service.terminal(run.jobId));
    expect(status).toBe('failed');
    expect(error).toBe(
      ['line 29', 'exit code 7', ...Array.from({ length: 20 }, (_, n) => `line ${n + 10}`)].join('\n'),
    );
  });

  it('is alone: a second one is refused meanwhile, a snippet is not', async () => {
    const run = runOf('import os, time\nwhile not os.path.exists("go"): time.sleep(0.01)');
    await service.push(run);
    expect(await service.push(runOf('pass'))).toBe(409);
    const snippet = commandOf('snippet', {
      code: `print("__CW_SCOPE_START__{}__CW_SCOPE_END__")\nopen(${JSON.stringify(`${worker.folder}/runs/${run.jobId}/go`)}, "w")`,
    });
    expect(await service.push(snippet)).toBe(202);
    const result = await service.until('the result', () => service.result(snippet.commandId));
    expect(result).toEqual({ status: 'success', output: '__CW_SCOPE_START__{}__CW_SCOPE_END__\n', exitCode: 0 });
    expect(await service.until('the end', () => service.terminal(run.jobId))).toMatchObject({ status: 'completed' });
  });
});
