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

  it('a run reports first that it runs, then steps, logs, claims, usage and uploads, and last its end', async () => {
    const run = buildRunCommand(
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
    expect(await service.pushCommand(run)).toBe(202);
    expect(await service.pushCommand(run)).toBe(200);
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(jobId));

    expect(terminal).toMatchObject({ status: 'completed', result: { seen: { PORTAL: 'x' } } });
    expect(service.uploads.get(terminal.screenshotKey)?.toString()).toBe('png');
    expect(service.listWebhooks(jobId)[0]).toEqual({ jobId, status: 'running', seq: 1 });
    const callbacks = service.requests.filter((h) => h.text.includes(jobId) && !h.path.includes('heartbeat'));
    expect(callbacks[0]!.body.status).toBe('running');
    expect(callbacks.at(-1)!.body).toEqual(terminal);

    const steps = service.listSteps(jobId);
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
    expect(new Set([...steps, ...service.listWebhooks(jobId)].map(({ seq }) => seq)).size).toBe(
      steps.length + service.listWebhooks(jobId).length,
    );
    const claims = service.listAccepted(`/api/jobs/${jobId}/claim-results`).map((h) => h.body.claimResults.length);
    expect(claims).toEqual([100, 30]);
    const logs = service.listLogs(jobId);
    expect(logs.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(logs.map(({ level, message }) => `${level} ${message}`).sort()).toEqual([
      'error to stderr',
      'info portal is x',
      'warn from the module',
    ]);
    expect(service.listAccepted('/api/pilot/run-summary')[0]!.body).toEqual({
      batchSummary: { jobId, batchId: 'b1' },
      claimResults: [{ claimId: 'c', outcome: 'failed', processingSeconds: 3 }],
      stopEvents: [],
    });
  });

  it.each(['events.jsonl', 'stdout.log'])(
    'a run whose script replaces its file %s with a folder fails as worker_failed, and the next run is accepted',
    async (name) => {
      const run = buildRunCommand(
        `
import os, time
open("${name}", "a").close()
os.remove("${name}")
os.makedirs("${name}/folder/that/is/not/empty")
time.sleep(600)
`,
      );
      expect(await service.pushCommand(run)).toBe(202);
      expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
        status: 'failed',
        errorCode: 'worker_failed',
        error: expect.stringContaining('EISDIR'),
      });
      const missing = service.listLogs(run.jobId).find(({ message }) => message.includes('the rest of the output'));
      expect(missing).toMatchObject({ message: expect.stringContaining('EISDIR') });
      const next = buildRunCommand('pass');
      await service.waitUntil('the worker to be idle', () => {
        const heartbeats = service.listAccepted('/api/agent/heartbeat');
        return heartbeats.at(-1)?.body.runningJobIds.length === 0;
      });
      expect(await service.pushCommand(next)).toBe(202);
      expect(await service.waitUntil('the end', () => service.findTerminalReport(next.jobId))).toMatchObject({
        status: 'completed',
      });
    },
  );

  it('during a run, the worker refuses a second run and accepts a snippet', async () => {
    const run = buildRunCommand('import os, time\nwhile not os.path.exists("go"): time.sleep(0.01)');
    await service.pushCommand(run);
    expect(await service.pushCommand(buildRunCommand('pass'))).toBe(409);
    const snippet = buildCommand('snippet', {
      code: `print("__CW_SCOPE_START__{}__CW_SCOPE_END__")\nopen(${JSON.stringify(`${worker.folder}/runs/${run.jobId}/go`)}, "w")`,
    });
    expect(await service.pushCommand(snippet)).toBe(202);
    const result = await service.waitUntil('the result', () => service.findResult(snippet.commandId));
    expect(result).toEqual({ status: 'success', output: '__CW_SCOPE_START__{}__CW_SCOPE_END__\n', exitCode: 0 });
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
  });
});
