// This test is long because it kills and restarts npm start.
// A short test of the same code: apps/e2e/src/start.spec.ts
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(180_000);

describe('npm start that is killed and started again', () => {
  let dataDir: string;
  const starts = new Set<Start>();
  /** The start on the shared folder and port, until it is killed. */
  let running: Start;
  let port: number;

  const startNpm = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const started = new Start(args, env);
    starts.add(started);
    return started;
  };

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-start-'));
    port = await findFreePort();
    running = startNpm(['--port', String(port), '--data-dir', dataDir]);
    await running.waitUntilReady();
  });
  afterAll(async () => {
    await Promise.all([...starts].map((start) => start.endStart('SIGKILL')));
    await rm(dataDir, { recursive: true, force: true });
  });

  it('npm start restarts Postgres, Redis or the service if that process dies', async () => {
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    for (const part of ['postgres -D', 'redis-server', 'standalone']) {
      const victim = findProcesses(dataDir).find(({ command }) => command.includes(part));
      if (!victim) throw new Error(`no ${part} among ${JSON.stringify(findProcesses(dataDir))}`);
      process.kill(victim.pid, 'SIGKILL');
      await waitFor(
        `${part} to be back`,
        async () => {
          const health = await http.get('/api/health/deep').catch(() => null);
          return (
            health?.body.status === 'ok' &&
            findProcesses(dataDir).some(({ command, pid }) => command.includes(part) && pid !== victim.pid)
          );
        },
        40_000,
      );
    }
  });

  it('npm start can be started again after a SIGKILL, which leaves no process behind', async () => {
    // A worker of a local agent outlives its service, and the next start may take it over.
    const left = findProcesses(dataDir).flatMap(({ pid, command }) => (command.includes('worker') ? [] : [pid]));
    await running.endStart('SIGKILL');
    // The next start itself waits until the port and the folder are free.
    const again = startNpm(['--port', String(port), '--data-dir', dataDir]);
    await again.waitUntilReady();
    await waitFor('all processes to end', () => findProcesses(dataDir).every(({ pid }) => !left.includes(pid)), 90_000);
    expect(await again.endStart('SIGINT')).toBe(0);
    await waitFor('all processes of the second start to end', () => findProcesses(dataDir).length === 0);
  });

  it('npm start uses the credentials of its environment, and deletes all data with --reset', async () => {
    const port = await findFreePort();
    const credentials = {
      BOOTSTRAP_ORGANIZATION: 'Given',
      BOOTSTRAP_ADMIN_EMAIL: 'given@example.com',
      BOOTSTRAP_ADMIN_PASSWORD: 'given-password',
      BOOTSTRAP_API_KEY: 'msk_givenkey1_0123456789abcdef0123456789',
      PORT: String(port),
      MUSTER_DATA_DIR: dataDir,
    };
    const started = startNpm(['--reset', '--no-demo'], credentials);
    await started.waitUntilReady();
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    const admin = await http.signIn('given@example.com', 'given-password');
    expect((await admin.get('/api/auth/me')).body.organization.name).toBe('Given');
    const key = await http.withKey(credentials.BOOTSTRAP_API_KEY).get('/api/organization/settings');
    expect(key.body.idleStopMinutes).toBe(30);
    await started.endStart('SIGTERM');
  });

  it('npm start can run twice on different ports and folders', async () => {
    const other = await mkdtemp(join(tmpdir(), 'muster-start-'));
    const ports = [await findFreePort(), await findFreePort()];
    const both = [dataDir, other].map((folder, i) => startNpm(['--port', String(ports[i]), '--data-dir', folder]));
    await Promise.all(both.map((started) => started.waitUntilReady()));
    for (const port of ports) expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
    await both[0]!.endStart('SIGTERM');
    expect((await fetch(`http://127.0.0.1:${ports[1]}/api/health/deep`)).status).toBe(200);
    await both[1]!.endStart('SIGTERM');
    await rm(other, { recursive: true, force: true });
  });
});

describe('npm start on an existing data folder', () => {
  let dataDir: string;
  const starts = new Set<Start>();

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-start-'));
  });
  afterAll(async () => {
    await Promise.all([...starts].map((start) => start.endStart('SIGKILL')));
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0, 90_000);
    await rm(dataDir, { recursive: true, force: true });
  });

  const startNpm = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const started = new Start(args, env);
    starts.add(started);
    return started;
  };

  it('a second npm start keeps the data, prints no credentials, and waits for the end of the first', async () => {
    const port = await findFreePort();
    const first = startNpm(['--port', String(port), '--data-dir', dataDir]);
    await first.waitUntilReady();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(first.output)!;
    const [, apiKey] = /API key +(msk_\S+)/.exec(first.output)!;
    expect(first.output).toMatch(/ready in \d+\.\d+ s/);
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    expect((await http.get('/api/health/deep')).body.status).toBe('ok');
    expect((await http.withKey(apiKey!).get('/api/organization/settings')).status).toBe(200);
    const admin = await http.signIn(email!, password!);
    await admin.patch('/api/organization/settings', { idleStopMinutes: 7 });
    expect((await stat(join(dataDir, 'secrets.json'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(dataDir, 'muster.log'), 'utf8')).not.toContain(apiKey!);
    const parts = findProcesses(dataDir).map(({ pid }) => pid);
    expect(parts.length).toBeGreaterThan(2);
    // `npm start` is called a second time while the first one is shutting down. The second one waits for the end of the
    // first.
    const ended = first.endStart('SIGTERM');
    await waitFor('the message that it stops', () => first.output.includes('stopping'));
    const second = startNpm(['--port', String(port), '--data-dir', dataDir]);
    expect(await ended).toBe(0);
    await second.waitUntilReady();
    expect(findProcesses(dataDir).filter(({ pid }) => parts.includes(pid))).toEqual([]);
    expect(second.output).toMatch(/waiting for another Muster that is shutting down in this data folder \(pid \d+\)/);
    expect(second.output).not.toMatch(/msk_|Shown only once/);
    expect((await http.withKey(apiKey!).get('/api/organization/settings')).body.idleStopMinutes).toBe(7);
    expect(await second.endStart('SIGTERM')).toBe(0);
  });

  it('the worker of a local agent keeps running while the service restarts', async () => {
    const port = await findFreePort();
    const folder = await mkdtemp(join(tmpdir(), 'muster-start-demo-'));
    const started = startNpm(['--port', String(port), '--data-dir', folder]);
    await started.waitUntilReady();
    const [, id] = await waitFor('the example', () => /\/app\/runs\/(\S+)/.exec(started.output));
    const path = `/api/jobs/${id}`;
    const api = new HttpClient(`http://127.0.0.1:${port}`).withKey(/API key +(msk_\S+)/.exec(started.output)![1]!);
    const job = await waitFor('the end of the example', async () => {
      const { body } = await api.get(path);
      return body.status !== 'queued' && body.status !== 'running' && body;
    });
    expect(job).toMatchObject({
      status: 'completed',
      progress: { percent: 100, stepsPassed: 3, stepsFailed: 0 },
      claims: { attempted: 2, eobUploaded: 1, noEobFound: 1 },
    });
    await waitFor('the cost of the example', async () => (await api.get(path)).body.totalCostUsd > 0);

    const agentId = job.agentId as string;
    const readWorkerPid = () =>
      Number(/"pid":(\d+)/.exec(readFileSync(join(folder, 'agents', agentId, 'worker.json'), 'utf8'))![1]);
    const worker = readWorkerPid();
    process.kill(findProcesses(folder).find(({ command }) => command.includes('standalone'))!.pid, 'SIGKILL');
    await waitFor('the service to be back', () => started.output.includes('the service is running again'));
    expect(readWorkerPid()).toBe(worker);
    const live = await api.get(`/api/agents/${agentId}/status`);
    const { vmIp } = (await api.get(`/api/agents/${agentId}`)).body;
    expect(live.body).toMatchObject({ status: 'online', vmState: 'running', vmIp });
    const stopped = await api.post(`/api/agent/${agentId}/action`, { action: 'stop' });
    expect(stopped.body).toMatchObject({ success: true, status: 'stopping' });
    await waitFor('the stop', async () => (await api.get(`/api/agents/${agentId}/status`)).body.status === 'stopped');
    expect(findProcesses(folder).filter(({ command }) => command.includes('worker'))).toEqual([]);
    // The service passes the right key to the worker at each start, so a refused key in its folder does no harm.
    const refusedKey = join(folder, 'agents', agentId, 'machine/service-key');
    for (const [action, status] of [['start', 'starting'] as const, ['reboot', 'rebooting'] as const]) {
      await writeFile(refusedKey, 'msk_refusedkey1_0123456789abcdef');
      expect((await api.post(`/api/agent/${agentId}/action`, { action })).body.status).toBe(status);
      await waitFor(action, async () => (await api.get(`/api/agents/${agentId}/status`)).body.status === 'online');
      await waitFor('the refused key to be deleted', () => !existsSync(refusedKey));
    }
    expect(await started.endStart('SIGTERM')).toBe(0);
    await waitFor('all processes to end', () => findProcesses(folder).length === 0);
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    [
      'a port in use',
      async () => ['--port', String(await occupyPort()), '--data-dir', join(dataDir, 'unused')],
      /Port \d+ is used by another program; choose a free one/,
    ],
    ['an invalid port', async () => ['--port', 'http'], /"http" is not a port/],
    ['an invalid number of processes', async () => ['--processes', '0'], /"0" is not a number of processes/],
    ['an unknown option', async () => ['--prot', '1'], /Unknown option '--prot'.*--help/],
    [
      'a data folder that cannot be created',
      async () => ['--port', String(await findFreePort()), '--data-dir', '/dev/null/x'],
      /data folder \/dev\/null\/x cannot be created/,
    ],
  ])('npm start reports an error in one sentence: %s', async (_, args, sentence) => {
    const started = startNpm(await args());
    expect(await started.exit).toBe(1);
    expect(started.output.trim().split('\n').filter(Boolean).at(-1)).toMatch(sentence);
    expect(started.output).not.toMatch(/\bat \w+.*\(/);
  });
});

const takers: { close(): void }[] = [];

async function occupyPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  takers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

afterAll(() => takers.forEach((server) => server.close()));
