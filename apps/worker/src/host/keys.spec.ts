import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { Keys } from './keys';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

const repaired = 'msk_repaired_0123456789abcdef';
const refused = 'msk_refused0_0123456789abcdef';

describe('The key of a worker', () => {
  let service: FakeService;
  let worker: WorkerHarness;
  let file: string;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
    file = join(worker.folder, 'service-key');
  });

  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const pushAndWaitForResult = async (command: { commandId: string }): Promise<Json> => {
    expect(await service.pushCommand(command)).toBe(202);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };

  it('a repair with a valid key restarts the worker with that key without ending the worker’s run', async () => {
    await worker.start();
    const run = buildRunCommand(
      'import os, time\nprint("up", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)',
    );
    await service.pushCommand(run);
    await service.waitUntil('it is up', () => service.listLogs(run.jobId).length);
    const { bootId } = service.waitForHandshake()!.body;
    service.apiKeys.push(repaired);
    expect((await pushAndWaitForResult(buildCommand('repair', { apiKey: repaired }))).status).toBe('success');
    const again = await service.waitUntil('the second handshake', () => service.waitForHandshake(2));
    expect(again.headers['x-api-key']).toBe(repaired);
    expect(again.body.bootId).not.toBe(bootId);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(worker.child!.exitCode).toBeNull();
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
    expect(service.listLogs(run.jobId)).toHaveLength(1);
  });

  it('the key of a repair is not removed if the service refuses the environment’s key too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-keys-'));
    try {
      writeFileSync(join(folder, 'service-key'), `${repaired}\n`);
      const keys = new Keys({ folder, apiKey: refused });
      expect([keys.currentKey, keys.switchToNextKey(), keys.currentKey]).toEqual([repaired, true, refused]);
      expect([keys.switchToNextKey(), keys.currentKey]).toEqual([false, repaired]);
      keys.confirmKey();
      expect(new Keys({ folder, apiKey: refused }).currentKey).toBe(repaired);
      expect(new Keys({ folder, apiKey: repaired }).switchToNextKey()).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
