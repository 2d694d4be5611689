import type { MachineCapability } from '@muster/contracts';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { computeBackoffMs, parseRetryAfter } from './protocol/backoff';
import { FakeService } from './testing/fake-service.harness';
import { Journal } from './runs/journal';
import { classifyStatus } from './protocol/service';
import { readSettings } from './settings';
import { findPushUrl } from './protocol/tunnel';
import { buildRunCommand, WorkerHarness } from './testing/worker-process.harness';

describe('The one-file worker', () => {
  it('the one-file worker needs no other files, and reports which parts its machine has and lacks', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-one-file-'));
    const file = join(folder, 'muster-worker.js');
    execFileSync(process.execPath, [resolve(__dirname, '../one-file.mjs'), file]);
    expect(readFileSync(file, 'utf8')).not.toMatch(/require\("(?!node:)/);
    const service = await FakeService.start();
    const worker = new WorkerHarness(service, { PRACTICE_DATABASE: 'odbc:DSN=practice' }, file);
    try {
      await worker.start({ CHROMIUM: '/nowhere' });
      const parts = service.waitForHandshake()!.body.machineCapabilities as MachineCapability[];
      expect(parts.map(({ name }) => name)).toEqual(['python', 'chromium', 'ffmpeg', 'pillow', 'odbc', 'sandbox']);
      expect(parts).toContainEqual({ name: 'chromium', available: false, detail: expect.stringContaining('CHROMIUM') });
      expect(parts.filter(({ available, detail }) => !available && !detail)).toEqual([]);
      expect(parts.filter(({ required }) => required).map(({ name }) => name)).toEqual(['odbc']);
      const run = buildRunCommand('import muster\nwith muster.step("one"): muster.result(1)');
      await service.pushCommand(run);
      const terminal = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
      expect(terminal).toMatchObject({ status: 'completed', result: 1 });
    } finally {
      await worker.remove();
      await service.stop();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('The start', () => {
  it('a worker that starts with several errors in its environment reports all of them', () => {
    const env = { SERVICE_BASE_URL: 'ftp://x', MUSTER_WORKER_LISTEN: 'nowhere', MUSTER_FENCE_MS: '-1' };
    expect(() => readSettings(env)).toThrow(
      "the worker's environment is not valid: SERVICE_BASE_URL must be an http or https URL; AGENT_ID is missing; " +
        'SERVICE_API_KEY is missing; MUSTER_WORKER_LISTEN must be host:port or off; MUSTER_FENCE_MS must be a whole ' +
        'number of at least 1',
    );
  });

  it('the worker reports a loopback listener only to a service on its host, unless a tunnel is configured', () => {
    const at = { address: '127.0.0.1', port: 9, family: 'IPv4' };
    const here = { tunnel: 'auto', baseUrl: 'http://localhost:3000' };
    for (const baseUrl of ['http://127.0.0.1:3000', 'http://[::1]:3000', 'https://muster.localhost']) {
      expect(findPushUrl({ ...here, baseUrl }, at)).toBe('http://127.0.0.1:9');
    }
    expect(findPushUrl(here, { address: '::1', port: 9, family: 'IPv6' })).toBe('http://[::1]:9');
    expect(findPushUrl(here, { ...at, address: '0.0.0.0' })).toBeNull();
    for (const baseUrl of [
      'http://10.0.0.7:3000',
      'https://muster.example',
      'http://127.example',
      'http://localhost.example',
    ]) {
      expect(findPushUrl({ ...here, baseUrl }, at)).toBeNull();
    }
    expect(findPushUrl({ ...here, tunnel: 'agent-1.tunnels.example' }, at)).toBe('agent-1.tunnels.example');
    expect(findPushUrl({ ...here, tunnel: null }, at)).toBeNull();
  });

  it('the worker retries its handshake until the service is available, but logs a refusal of its key', async () => {
    const service = await FakeService.start();
    const worker = new WorkerHarness(service);
    try {
      service.interfere = ({ path, count }) => {
        if (path !== '/api/agents/handshake') return undefined;
        return count === 1 ? 'hang up' : count === 2 ? { status: 503 } : undefined;
      };
      await worker.start();
      await worker.kill();
      service.interfere = () => undefined;
      const child = worker.spawn({ SERVICE_API_KEY: 'msk_wrong_key_0123456789' });
      await service.waitUntil('its word', () => worker.stderr.includes('the service rejects SERVICE_API_KEY'));
      expect(child.exitCode).toBeNull();
      expect(worker.stderr).not.toContain('msk_wrong_key_0123456789');
    } finally {
      await worker.remove();
      await service.stop();
    }
  });
});

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

  it('a worker that the service does not know repeats its handshake as the same boot and keeps its run', async () => {
    const { bootId } = service.waitForHandshake()!.body;
    const run = buildRunCommand(
      'import os, time\nprint("up", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)',
    );
    await service.pushCommand(run);
    await service.waitUntil('it is up', () => service.listLogs(run.jobId).length);
    let unknown = true;
    service.interfere = ({ path }) => {
      if (path === '/api/agents/handshake') unknown = false;
      return path === '/api/agent/heartbeat' && unknown ? { status: 409 } : undefined;
    };
    const again = await service.waitUntil('the second handshake', () => service.waitForHandshake(2));
    expect(again.body.bootId).toBe(bootId);
    await service.waitUntil('a heartbeat', () => service.requests.at(-1)!.path === '/api/agent/heartbeat');
    writeFileSync(join(worker.folder, 'runs', run.jobId, 'go'), '');
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
  });
});

describe('The journal', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-journal-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('the journal retains the id of a command for at least seven days, longer if it is one of the newest', () => {
    const journal = new Journal(folder, 3);
    const old = Date.now() - 8 * 24 * 3600_000;
    for (let n = 0; n < 10; n += 1) {
      journal.recordStart(`old-${n}`, 'snippet', null, old);
      if (n !== 1) journal.recordFinish(`old-${n}`);
    }
    journal.close();
    const again = new Journal(folder, 3);
    expect([0, 2, 6].map((n) => again.hasStarted(`old-${n}`))).toEqual([false, false, false]);
    expect([7, 8, 9].map((n) => again.hasStarted(`old-${n}`))).toEqual([true, true, true]);
    // The journal is shortened, but commands that have not finished stay in it.
    expect(again.listUnfinished().map(({ id }) => id)).toEqual(['old-1']);
    for (let n = 0; n < 20; n += 1) again.recordStart(`new-${n}`, 'snippet', null, Date.now());
    expect(new Journal(folder, 3).hasStarted('new-0')).toBe(true);
  });

  it('the journal drops an incomplete last line', () => {
    const journal = new Journal(folder);
    journal.recordStart('one', 'run', 'job', Date.now());
    const path = join(folder, 'journal.jsonl');
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"start":"tw`);
    const again = new Journal(folder);
    expect([again.hasStarted('one'), again.hasStarted('tw')]).toEqual([true, false]);
    expect(again.listUnfinished()).toHaveLength(1);
  });
});

describe('Repeating', () => {
  it('a retry waits up to half a minute, randomized, and at least as long as Retry-After', () => {
    const computeBackoff = (attempt: number, random: number) => computeBackoffMs(attempt, undefined, 0, () => random);
    expect([1, 2, 3, 20].map((attempt) => computeBackoff(attempt, 1))).toEqual([250, 500, 1000, 30_000]);
    expect(computeBackoff(20, 0)).toBe(15_000);
    expect(computeBackoffMs(1, undefined, 7_000)).toBe(7_000);
    expect(parseRetryAfter('3', 0)).toBe(3_000);
    expect(parseRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 4_000)).toBe(5_000);
    expect(parseRetryAfter('soon', 0)).toBe(0);
  });

  it('a request is not repeated after a status that another attempt would not change', () => {
    expect([200, 201, 204].map(classifyStatus)).toEqual(['delivered', 'delivered', 'delivered']);
    expect([400, 404, 409, 413, 422].map(classifyStatus)).toEqual(Array(5).fill('refused'));
    expect([401, 403, 408, 429, 500, 503].map(classifyStatus)).toEqual(Array(6).fill('later'));
  });
});
