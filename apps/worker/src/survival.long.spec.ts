// This test is long because it kills a worker in every state that a run or a command can be in.
// A short test of the same code: apps/worker/src/survival.spec.ts
import { killAll, findProcesses } from '@muster/testing';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService } from './testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from './testing/worker-process.harness';

describe('A worker that is killed', () => {
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

  it('after a kill, the next worker reports how the run ended without a worker, with secrets redacted', async () => {
    const code = `
import os, sys, time
print("the password is " + os.environ["PASSWORD"], flush=True)
while not os.path.exists("go"): time.sleep(0.01)
print("again " + os.environ["PASSWORD"])
sys.exit(3)`;
    const run = buildRunCommand(code, { secretNames: ['PASSWORD'] }, { PASSWORD: 'correct-horse' });
    await service.pushCommand(run);
    await service.waitUntil('a log', () => service.listLogs(run.jobId).length);
    await worker.kill('SIGKILL');
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    await service.waitUntil('its end', () => existsSync(join(worker.folder, 'runs', run.jobId, 'exit-code')));
    await worker.start();
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'failed',
      error: 'exit code 3',
      errorCode: 'script_failed',
    });
    expect(service.listLogs(run.jobId).map(({ message }) => message)).toEqual([
      'the password is [redacted]',
      'again [redacted]',
    ]);
    expect(worker.readAllOutput()).not.toContain('correct-horse');
  });

  it('after a kill of the worker, a run that died too is reported as failed and not started again', async () => {
    const run = buildRunCommand('import time\nprint("up", flush=True)\ntime.sleep(600)');
    await service.pushCommand(run);
    await service.waitUntil('a log', () => service.listLogs(run.jobId).length);
    await worker.kill('SIGKILL');
    killAll(findProcesses(run.commandId));
    await worker.start();
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'failed',
      error: 'the worker was restarted while the command ran',
      errorCode: 'worker_restarted',
    });
    expect(await service.pushCommand(run)).toBe(200);
    expect(findProcesses(run.commandId)).toEqual([]);
  });

  it('after a kill of the worker, a snippet that was running fails, is killed and is not started again', async () => {
    const touched = join(worker.folder, 'touched');
    const snippet = buildCommand('snippet', {
      code: `import time\nopen(${JSON.stringify(touched)}, "a").write("x")\ntime.sleep(600)`,
    });
    await service.pushCommand(snippet);
    await service.waitUntil('its start', () => existsSync(touched));
    await worker.kill('SIGKILL');
    await worker.start();
    expect(await service.waitUntil('the result', () => service.findResult(snippet.commandId))).toMatchObject({
      status: 'failed',
      error: 'the worker was restarted while the command ran',
    });
    expect(await service.pushCommand(snippet)).toBe(200);
    expect(findProcesses(snippet.commandId)).toEqual([]);
  });

  it('after a kill of the worker, reports that were not accepted before are sent with the same numbers', async () => {
    const run = buildRunCommand('import muster\nfor n in range(2500): print("line", n)\nwith muster.step("s"): pass');
    service.interfere = ({ path }) => (/job-|step-status/.test(path) ? { status: 503 } : undefined);
    await service.pushCommand(run);
    await service.waitUntil('its end', () => existsSync(join(worker.folder, 'runs', run.jobId, 'exit-code')));
    await service.waitUntil('the spool', () => worker.readAllOutput().includes('"terminal"'));
    await worker.kill('SIGKILL');
    service.interfere = () => undefined;
    await worker.start();
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
    expect(service.listLogs(run.jobId).map(({ seq, message }) => [seq, message])).toEqual(
      Array.from({ length: 2500 }, (_, n) => [n + 1, `line ${n}`]),
    );
    await service.waitUntil('an empty spool', () => readdirSync(join(worker.folder, 'spool')).length === 0);
  });

  it('a second worker does not start in the folder of another worker', async () => {
    const [code] = await new Promise<unknown[]>((resolve) => {
      const other = new WorkerHarness(service);
      const child = other.spawn({ MUSTER_WORKER_DIR: worker.folder });
      child.once('exit', (...args) => void other.remove().then(() => resolve(args)));
    });
    expect(code).toBe(2);
  });
});
