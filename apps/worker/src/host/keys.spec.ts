import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { Keys } from './keys';
import { commandOf, runOf, WorkerHarness } from '../testing/worker-process.harness';

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

  const answer = async (command: { commandId: string }): Promise<Json> => {
    expect(await service.push(command)).toBe(202);
    return service.until('the result', () => service.result(command.commandId));
  };

  it('a repair with a valid key restarts the worker with that key and does not end its run', async () => {
    await worker.start();
    const run = runOf('import os, time\nprint("up", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)');
    await service.push(run);
    await service.until('it is up', () => service.logs(run.jobId).length);
    const { bootId } = service.handshake()!.body;
    service.apiKeys.push(repaired);
    expect((await answer(commandOf('repair', { apiKey: repaired }))).status).toBe('success');
    const again = await service.until('the second handshake', () => service.handshake(2));
    expect(again.headers['x-api-key']).toBe(repaired);
    expect(again.body.bootId).not.toBe(bootId);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(worker.child!.exitCode).toBeNull();
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    expect(await service.until('the end', () => service.terminal(run.jobId))).toMatchObject({ status: 'completed' });
    expect(service.logs(run.jobId)).toHaveLength(1);
  });

  it('the key of a repair is not removed if the service refuses the environment’s key too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-keys-'));
    try {
      writeFileSync(join(folder, 'service-key'), `${repaired}\n`);
      const keys = new Keys({ folder, apiKey: refused });
      expect([keys.current, keys.switchKey(), keys.current]).toEqual([repaired, true, refused]);
      expect([keys.switchKey(), keys.current]).toEqual([false, repaired]);
      keys.confirm();
      expect(new Keys({ folder, apiKey: refused }).current).toBe(repaired);
      expect(new Keys({ folder, apiKey: repaired }).switchKey()).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
