import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeService } from '../testing/fake-service.harness';
import { Health } from './health';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

describe('The health of a worker', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'muster-health-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const waitForProblem = async (health: Health, wanted: RegExp | null) => {
    for (let tries = 0; tries < 400; tries += 1) {
      const [problem = null] = health.listProblems();
      if (wanted ? problem && wanted.test(problem) : problem === null && tries > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`never ${wanted}, but ${health.listProblems().join()}`);
  };

  it('a worker is healthy if it can write to its folder, run Python and fetch commands', async () => {
    await waitForProblem(new Health({ folder, python: 'python3' }, () => 0), null);
  });

  it('a worker is unhealthy while its Python does not run, and healthy again once Python runs', async () => {
    const python = join(folder, 'python');
    writeFileSync(python, '#!/bin/sh\nexit 3\n', { mode: 0o700 });
    const health = new Health({ folder, python }, () => 0);
    await waitForProblem(health, /^Python does not run/);
    writeFileSync(python, '#!/bin/sh\nexit 0\n');
    chmodSync(python, 0o700);
    await waitForProblem(health, null);
  });

  it('a worker is unhealthy while its folder cannot be written or its polls are not answered', () => {
    const taken = join(folder, 'taken');
    mkdirSync(join(taken, 'health'), { recursive: true });
    expect(new Health({ folder: taken, python: 'python3' }, () => 0).listProblems()).toEqual([
      expect.stringMatching(/^the worker's folder cannot be written/),
    ]);
    expect(new Health({ folder, python: 'python3' }, () => 121_000).listProblems()).toEqual([
      'the service has not answered a poll for commands for 121 s',
    ]);
  });
});

describe('A worker with a problem', () => {
  it('a restart command ends neither the process nor the run of an unhealthy worker that reports its problem', async () => {
    const service = await FakeService.start();
    const worker = new WorkerHarness(service);
    try {
      await worker.start();
      const run = buildRunCommand(
        'import os, time\nprint("up", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)',
      );
      await service.pushCommand(run);
      await service.waitUntil('it is up', () => service.listLogs(run.jobId).length);
      const { bootId } = service.waitForHandshake()!.body;
      mkdirSync(join(worker.folder, 'health'));
      await service.waitUntil('the report', () =>
        service.requests.some(({ path, body }) => path === '/api/agent/heartbeat' && body.healthy === false),
      );
      rmSync(join(worker.folder, 'health'), { recursive: true });
      const restart = buildCommand('restart', {});
      await service.pushCommand(restart);
      const again = await service.waitUntil('the second handshake', () => service.waitForHandshake(2));
      expect(again.body.bootId).not.toBe(bootId);
      expect(worker.child!.exitCode).toBeNull();
      expect(await service.waitUntil('the result', () => service.findResult(restart.commandId))).toMatchObject({
        status: 'success',
      });
      writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
      expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
        status: 'completed',
      });
      expect(service.listLogs(run.jobId)).toHaveLength(1);
    } finally {
      await worker.remove();
      await service.stop();
    }
    expect(service.faults).toEqual([]);
  });
});
