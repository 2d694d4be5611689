// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/protocol/delivery.spec.ts
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

  it('a worker’s request that was accepted but not answered is repeated with the same text', async () => {
    const textsByKey = new Map<string, string[]>();
    const taken: string[] = [];
    service.interfere = ({ path, body }) => {
      if (!/job-|step-status/.test(path)) return undefined;
      const key = `${path} ${body.logs?.[0].seq ?? body.seq}`;
      const texts = textsByKey.get(key) ?? [];
      textsByKey.set(key, [...texts, JSON.stringify(body)]);
      if (texts.length) return undefined;
      taken.push(key);
      return 'hang up';
    };
    const run = buildRunCommand(script);
    await service.pushCommand(run);
    await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    for (const [key, texts] of textsByKey) {
      expect(texts.length).toBe(2);
      // A repeated log request may also contain newer entries.
      if (!key.includes('job-logs')) expect(texts[1]).toBe(texts[0]);
    }
    expect(service.listLogs(run.jobId).map(({ message }) => message)).toEqual(
      Array.from({ length: 2400 }, (_, n) => `line ${n}`),
    );
  });

  it('a refused report is sent again without the refused part, such as a run’s result or a step’s usage', async () => {
    service.interfere = ({ path, body }) => {
      if (body?.result) return { status: 400, body: { detail: 'the result is nested too deeply' } };
      return path.endsWith('/step-status') && body.usage ? { status: 400 } : undefined;
    };
    const run = buildRunCommand(
      'import muster\nwith muster.step("s"): muster.ai_usage("p", "m", 1)\nmuster.result({"a": 1})',
    );
    await service.pushCommand(run);
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(terminal).toMatchObject({
      status: 'completed',
      incomplete: [
        { kind: 'ai_usage', reason: 'usage of the step s: answered 400' },
        { kind: 'result', reason: 'the run’s result: answered 400: the result is nested too deeply' },
      ],
    });
    expect(terminal).not.toHaveProperty('result');
    expect(service.listSteps(run.jobId).map(({ status }) => status)).toEqual(['running', 'running', 'passed']);
    expect(service.listLogs(run.jobId).map(({ message }) => message)).toEqual(
      terminal.incomplete.map((lack: { kind: string; reason: string }) => expect.stringContaining(lack.reason)),
    );
  });

  it('a script that fills the spool is paused until the spool has room again', async () => {
    await worker.kill();
    await worker.start({ MUSTER_SPOOL_LIMIT_BYTES: '400000' });
    service.interfere = ({ path }) => (path === '/api/job-logs' ? { status: 503 } : undefined);
    const run = buildRunCommand(`
import muster, os, sys, time
n = 0
while n % 1000 or not os.path.exists("go"):
    sys.stdout.write("line %d\\n" % n)
    n += 1
    if n % 1000 == 0: time.sleep(0.01)
muster.result(n)
`);
    await service.pushCommand(run);
    const listRunProcesses = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          const isOfRun = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`MUSTER_RUN_ID=${run.commandId}`);
          return isOfRun && readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.startsWith('T');
        } catch {
          return false;
        }
      });
    await service.waitUntil('it is stopped', () => listRunProcesses().length >= 2);
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    service.interfere = () => undefined;
    const { status, result } = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(status).toBe('completed');
    const lines = service.listLogs(run.jobId).map(({ message }) => message);
    expect(lines).toEqual(Array.from({ length: result }, (_, n) => `line ${n}`));
  });
});
