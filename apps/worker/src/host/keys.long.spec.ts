// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/host/keys.spec.ts
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, type Json } from '../testing/fake-service.harness';
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
  const getLastHeartbeatKey = () =>
    service.requests.findLast(({ path }) => path === '/api/agent/heartbeat')?.headers['x-api-key'];

  it.each([
    ['an unknown key', 401],
    ['a key that is not for workers or is for another agent', 403],
    ['a key of another organization', 404],
  ])('a worker whose repair fails because of %s continues with its old key', async (_, status) => {
    service.refusals[refused] = status;
    await worker.start();
    expect(await pushAndWaitForResult(buildCommand('repair', { apiKey: refused }))).toEqual({
      status: 'failed',
      error: `the service rejects the new key for this agent (${status}); the old key remains in use`,
    });
    expect(existsSync(file)).toBe(false);
    expect(service.listAccepted('/api/agents/handshake')).toHaveLength(1);
    expect((await pushAndWaitForResult(buildCommand('snippet', { code: 'print(1)' }))).status).toBe('success');
    expect(worker.stderr + worker.readAllOutput()).not.toContain(refused);
  });

  it('a repair tries its new key again while the service does not answer', async () => {
    await worker.start();
    service.apiKeys.push(repaired);
    let polls = 0;
    service.interfere = ({ path, method }) => {
      if (method !== 'GET' || !path.endsWith('/commands')) return undefined;
      polls += 1;
      return polls === 1 ? 'hang up' : polls === 2 ? { status: 503 } : undefined;
    };
    expect((await pushAndWaitForResult(buildCommand('repair', { apiKey: repaired }))).status).toBe('success');
    expect(readFileSync(file, 'utf8')).toBe(repaired);
  });

  it.each([401, 403, 404])(
    'the worker uses the environment’s key again if the key of a repair is refused with %i',
    async (status) => {
      service.refusals[refused] = status;
      writeFileSync(file, refused);
      await worker.start();
      expect(service.waitForHandshake()!.headers['x-api-key']).toBe(service.apiKeys[0]);
      await service.waitUntil('a heartbeat', () => getLastHeartbeatKey() === service.apiKeys[0]);
      expect(existsSync(file)).toBe(false);
      const run = buildRunCommand(
        'import os, muster\nmuster.result(os.environ["SERVICE_API_KEY"] == "' + service.apiKeys[0] + '")',
      );
      await service.pushCommand(run);
      expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
        result: true,
      });
      expect(worker.stderr).toContain('the service rejects the key that the last repair of the worker saved');
      expect(worker.stderr).not.toContain(refused);
    },
  );

  it('a repair’s key is used as long as the service accepts it, even if the environment has another key', async () => {
    service.apiKeys.push(repaired);
    writeFileSync(file, repaired);
    await worker.start({ SERVICE_API_KEY: refused });
    expect(service.waitForHandshake()!.headers['x-api-key']).toBe(repaired);
    expect(readFileSync(file, 'utf8')).toBe(repaired);
  });
});
