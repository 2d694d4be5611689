import { findProcesses } from '@muster/testing';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
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

  // A script that counts until the file `go` appears, and reports the count.
  const counting = `
import muster, os, sys
n = 0
with muster.step("count"):
    while not os.path.exists("go"):
        n += 1
        print("line %d" % n, flush=True)
        if n % 50 == 0:
            muster.log("debug", "event %d" % (n // 50))
        os.system("sleep 0.002")
muster.result(n)
`;

  it('a restarted worker takes over its run, without lost and without repeated reports', async () => {
    const run = buildRunCommand(counting);
    await service.pushCommand(run);
    for (let kills = 1; kills <= 3; kills += 1) {
      const before = service.listLogs(run.jobId).length;
      await service.waitUntil('more logs', () => service.listLogs(run.jobId).length > before + 50);
      await worker.kill('SIGKILL');
      await worker.start();
    }
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    const { status, result } = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));

    expect(status).toBe('completed');
    const logs = service.listLogs(run.jobId);
    expect(logs.map(({ seq }) => seq)).toEqual(logs.map((_, index) => index + 1));
    const lines = logs.filter(({ level }) => level === 'info').map(({ message }) => message);
    expect(lines).toEqual(Array.from({ length: result }, (_, index) => `line ${index + 1}`));
    const events = logs.filter(({ level }) => level === 'debug').map(({ message }) => message);
    expect(events).toEqual(Array.from({ length: Math.floor(result / 50) }, (_, index) => `event ${index + 1}`));
    // A log entry that was sent twice was the same both times.
    const sent = new Map<number, string>();
    for (const log of service.listAccepted('/api/job-logs').flatMap(({ body }) => body.logs)) {
      expect(sent.get(log.seq) ?? log.message).toBe(log.message);
      sent.set(log.seq, log.message);
    }
    expect(
      new Set(service.listSteps(run.jobId).map(({ stepOrder, status, seq }) => `${stepOrder} ${status} ${seq}`)).size,
    ).toBe(2);
    await service.waitUntil('nothing left', () => findProcesses(run.commandId).length === 0);
  });

  it('a command that arrives several times, by push and by poll, is executed once', async () => {
    const marks = join(worker.folder, 'marks');
    const snippet = buildCommand('snippet', {
      code: `open(${JSON.stringify(marks)}, "a").write("x")\nprint(open(${JSON.stringify(marks)}).read())`,
    });
    service.pending.push(snippet);
    const statuses = await Promise.all(Array.from({ length: 5 }, () => service.pushCommand(snippet)));
    expect(statuses.filter((status) => status === 202).length).toBeLessThanOrEqual(1);
    await service.waitUntil('the ack', () => service.pending.length === 0);
    expect((await service.waitUntil('the result', () => service.findResult(snippet.commandId))).output).toBe('x\n');
    expect(await service.pushCommand({ ...snippet, payload: { code: `print("other")` } })).toBe(200);
    expect(await service.pushCommand({ ...snippet, commandId: randomUUID() })).toBe(202);
  });
});
