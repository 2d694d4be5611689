import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService } from '../testing/fake-service.harness';
import { buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

describe('Delivery', () => {
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

  const script = `
import muster, sys
for part in range(6):
    with muster.step("part %d" % part):
        for n in range(400):
            print("line %d" % (part * 400 + n))
        muster.claim("c%d" % part, "no_eob_found")
    open("a%d.txt" % part, "w").write(str(part))
    muster.artifact("a%d.txt" % part)
`;

  it('reports keep their order and sequence numbers if every request fails once with a temporary error', async () => {
    const ways = [
      { status: 503, headers: { 'retry-after': '0' } },
      'hang up' as const,
      { status: 429, headers: { 'retry-after': new Date(Date.now()).toUTCString() } },
      { status: 408 },
      { status: 401 },
    ];
    const failed = new Set<string>();
    service.interfere = ({ path, body }) => {
      const key = path + JSON.stringify(body?.logs?.[0].seq ?? body?.seq ?? body?.claimResults ?? body?.filename);
      if (!/job-|step-status|claim-results|uploads/.test(path) || failed.has(key)) return undefined;
      failed.add(key);
      return ways[failed.size % ways.length];
    };
    const run = buildRunCommand(script);
    await service.pushCommand(run);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });

    const entries = service.listAccepted('/api/job-logs').flatMap(({ body }) => body.logs);
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 2400 }, (_, n) => n + 1));
    expect(entries.map(({ message }) => message)).toEqual(Array.from({ length: 2400 }, (_, n) => `line ${n}`));
    const steps = service.listSteps(run.jobId);
    expect(steps.map(({ stepOrder, status }) => `${stepOrder} ${status}`)).toEqual(
      Array.from({ length: 6 }, (_, n) => [`${n + 1} running`, `${n + 1} passed`]).flat(),
    );
    const seqs = steps.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect([...service.uploads.values()].map(String).sort()).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(service.requests.filter(({ path }) => /job-|step|claim|uploads/.test(path)).at(-1)!.body.status).toBe(
      'completed',
    );
  });

  it('only refused reports are left out, and the run’s log and its final report list them as missing', async () => {
    service.interfere = ({ path, body }) => {
      const isBad =
        path === '/api/job-logs' && body.logs.some((log: { message: string }) => log.message === 'line 777');
      const isBadStep = path.endsWith('/step-status') && body.stepOrder === 3;
      if (isBad || isBadStep) return { status: isBad ? 400 : 422 };
      const isBadClaim = path.endsWith('/claim-results') && JSON.stringify(body).includes('"c4"');
      if (isBadClaim)
        return { status: 400, body: { errors: [{ field: 'claimResults.0.npi', message: 'npi is wrong' }] } };
      return path.endsWith('/uploads') && body.filename === 'a2.txt' ? { status: 404 } : undefined;
    };
    const run = buildRunCommand(`${script}\nfor n in range(3): muster.claim("last %d" % n if n else "c4", "failed")`);
    await service.pushCommand(run);
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(terminal.status).toBe('completed');
    const lacks = [
      { kind: 'artifact', reason: 'the file a2.txt: answered 404' },
      { kind: 'claim', reason: 'claim c4: answered 400: claimResults.0.npi: npi is wrong' },
      { kind: 'log', reason: 'a line of the log: answered 400' },
      { kind: 'step', reason: 'a report of the step part 2: answered 422' },
    ];
    const sortByKind = (some: typeof lacks) => [...some].sort((one, other) => (one.kind < other.kind ? -1 : 1));
    expect(sortByKind(terminal.incomplete)).toEqual(lacks);
    const errors = service.listLogs(run.jobId).filter(({ level }) => level === 'error');
    expect(errors.map(({ message }) => message).sort()).toEqual(
      lacks.map(({ kind, reason }) => `Not delivered, and missing from this run (${kind}): ${reason}`),
    );
    const claims = service.listAccepted(/claim-results/).flatMap(({ body }) => body.claimResults);
    expect(claims.map(({ claimId }) => claimId)).toEqual(['c0', 'c1', 'c2', 'c3', 'c5', 'last 1', 'last 2']);
    const missing = new Set(Array.from({ length: 2400 }, (_, n) => n + 1));
    for (const { seq } of service.listLogs(run.jobId)) missing.delete(seq);
    expect(missing.size).toBe(1);
    expect(new Set(service.listSteps(run.jobId).map(({ stepOrder }) => stepOrder))).toEqual(new Set([1, 2, 4, 5, 6]));
    expect([...service.uploads.values()].map(String).sort()).toEqual(['0', '1', '3', '4', '5']);
  });

  it('a refused report is noted in the run’s log even if the refusal arrives after the rest of the log', async () => {
    let isHeld = true;
    service.interfere = ({ path }) => {
      if (!path.endsWith('/claim-results')) return undefined;
      return isHeld ? { status: 503, headers: { 'retry-after': '0' } } : { status: 400 };
    };
    const run = buildRunCommand('import muster\nprint("all of the log")\nmuster.claim("c", "failed")');
    await service.pushCommand(run);
    // The log is delivered and the script has ended; only the claim is still pending.
    await service.waitUntil('the log', () =>
      service.listLogs(run.jobId).some(({ message }) => message === 'all of the log'),
    );
    await service.waitUntil('the end in the spool', () => worker.readAllOutput().includes('"terminal"'));
    isHeld = false;
    await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(service.listLogs(run.jobId).map(({ message }) => message)).toEqual([
      'all of the log',
      'Not delivered, and missing from this run (claim): claim c: answered 400',
    ]);
  });

  it('secrets in a script’s output are redacted in the spool and in all requests to the service', async () => {
    const run = buildRunCommand(
      `
import base64, muster, os, sys, time
secret = os.environ["PORTAL_PASSWORD"]
sys.stdout.write("chunk " + secret[:7]); sys.stdout.flush(); time.sleep(0.4); sys.stdout.write(secret[7:] + " end\\n")
print("lines " + secret[:7]); print(secret[7:] + " end")
print(base64.b64encode(b"xy" + secret.encode()).decode())
print(os.environ["SERVICE_API_KEY"], os.environ["SERVICE_SIGNING_SECRET"])
with muster.step("with " + secret, metadata={secret: [secret]}): muster.log("info", secret)
muster.claim("c", "failed", message=secret)
muster.progress(1, secret)
muster.result({"s": secret})
muster.run_summary(batch_id="b", claims=[], stop_events=[], note=secret)
raise RuntimeError("failed with " + secret)
`,
      { secretNames: ['PORTAL_PASSWORD'], variables: { PORTAL_PASSWORD: 'tr0ub4dor-and-3' } },
      { PORTAL_PASSWORD: 'tr0ub4dor-and-3', SERVICE_API_KEY: 'msk_another_key_0123456789' },
    );
    // The log stays in the spool, so that the test can read it on disk.
    service.interfere = ({ path }) => (/job-logs/.test(path) ? { status: 503 } : undefined);
    await service.pushCommand(run);
    // The script's raw output is removed right after the end is in the spool.
    const rawFiles = ['stdout.log', 'stderr.log', 'events.jsonl'].map((name) =>
      join(worker.folder, 'runs', run.jobId, name),
    );
    await service.waitUntil(
      'its end',
      () => worker.readAllOutput().includes('"terminal"') && !rawFiles.some((file) => existsSync(file)),
    );
    const disk = worker.readAllOutput();
    service.interfere = () => undefined;
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));

    const everything = disk + worker.stderr + service.requests.map(({ text }) => text).join('\n');
    for (const secret of ['tr0ub4dor-and-3', 'dor-and-3', 'msk_another_key_0123456789', service.signingSecret]) {
      const searched = everything.replaceAll(`"signingSecret":"${secret}"`, '');
      const at = searched.indexOf(secret);
      expect(at < 0 ? 'not found' : searched.slice(Math.max(0, at - 200), at + 50)).toBe('not found');
    }
    expect(
      service
        .listLogs(run.jobId)
        .slice(0, 4)
        .map(({ message }) => message),
    ).toEqual([
      'chunk [redacted] end',
      'lines [redacted] end',
      expect.stringMatching(/^..+\[redacted\]/),
      '[redacted] [redacted]',
    ]);
    expect(terminal).toMatchObject({ status: 'failed', result: { s: '[redacted]' } });
    expect(terminal.error).toMatch(
      /^RuntimeError: failed with \[redacted\]\nexit code 1\nTraceback [^]*RuntimeError: failed with \[redacted\]$/,
    );
  });
});
