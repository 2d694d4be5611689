// This test is long because it starts a worker for each answer that the service can give.
// A short test of the same code: apps/worker/src/worker.spec.ts
import { FakeService } from './testing/fake-service.harness';
import { WorkerHarness } from './testing/worker-process.harness';

describe('A boot that the service does not know', () => {
  let service: FakeService;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    service.heartbeatSeconds = 1;
    worker = new WorkerHarness(service);
    await worker.start();
  });
  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  it('a worker waits while its machine is being stopped until the stop happens or fails', async () => {
    const { bootId } = service.waitForHandshake()!.body;
    let refusals = 0;
    service.interfere = ({ path }) => {
      if (path === '/api/agent/heartbeat' && refusals < 3) return { status: 409 };
      if (path !== '/api/agents/handshake' || refusals === 3) return undefined;
      refusals += 1;
      return { status: 409, body: { agentStatus: 'stopping' } };
    };
    const again = await service.waitUntil('the second handshake', () => service.waitForHandshake(2));
    expect([again.body.bootId, refusals]).toEqual([bootId, 3]);
  });

  it('a worker that still runs after the service has stopped its machine reports as a new boot', async () => {
    const { bootId } = service.waitForHandshake()!.body;
    service.interfere = ({ path, body }) =>
      ['/api/agents/handshake', '/api/agent/heartbeat'].includes(path) && body.bootId === bootId
        ? { status: 409, body: { agentStatus: 'starting', boot: 'ended' } }
        : undefined;
    const again = await service.waitUntil('the handshake of another boot', () => service.waitForHandshake(2));
    expect(again.body.bootId).not.toBe(bootId);
    expect(worker.child!.exitCode).toBeNull();
  });
});
