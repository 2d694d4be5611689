import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, HttpClient, waitFor } from '@muster/testing';
import { processesOf, Start } from './npm-start';

jest.setTimeout(180_000);

describe('npm start', () => {
  let dataDir: string;
  const starts = new Set<Start>();
  /** On the shared folder and port, from the first test on. */
  let running: Start | undefined;
  let port: number;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-start-'));
  });
  afterAll(async () => {
    await running?.end('SIGTERM');
    await Promise.all([...starts].map((start) => start.end('SIGKILL')));
    await waitFor('its processes to be gone', () => processesOf(dataDir).length === 0, 90_000);
    await rm(dataDir, { recursive: true, force: true });
  });

  const start = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const begun = new Start(args, env);
    starts.add(begun);
    return begun;
  };

  it('comes up on one port, prints its credentials once, keeps its data, and ends everything on SIGTERM', async () => {
    port = await freePort();
    const first = start(['--port', String(port), '--data-dir', dataDir]);
    await first.ready();
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
    const parts = processesOf(dataDir).map(({ pid }) => pid);
    expect(parts.length).toBeGreaterThan(2);
    // The next one is started before this one has ended, and waits for that.
    const ended = first.end('SIGTERM');
    await waitFor('it to say so', () => first.output.includes('stopping'));
    const second = start(['--port', String(port), '--data-dir', dataDir]);
    expect(await ended).toBe(0);
    await second.ready();
    expect(processesOf(dataDir).filter(({ pid }) => parts.includes(pid))).toEqual([]);
    expect(second.output).toMatch(/waiting for the Muster that is ending on this data \(pid \d+\)/);
    expect(second.output).not.toMatch(/msk_|Shown this once/);
    expect((await http.withKey(apiKey!).get('/api/organization/settings')).body.idleStopMinutes).toBe(7);
    running = second;
  });

  it('refuses a second start on the same data, and leaves the first alone', async () => {
    const second = start(['--port', String(await freePort()), '--data-dir', dataDir]);
    expect(await second.exit).toBe(1);
    expect(second.output).toMatch(/muster: Another Muster \(pid \d+\) is using/);
    expect((await fetch(`http://127.0.0.1:${port}/api/health/deep`)).status).toBe(200);
  });

  it('shows a completed run of its example, and an agent that outlives its service', async () => {
    const port = await freePort();
    const folder = await mkdtemp(join(tmpdir(), 'muster-start-demo-'));
    const begun = start(['--port', String(port), '--data-dir', folder]);
    await begun.ready();
    const [, id] = await waitFor('the example', () => /\/app\/runs\/(\S+)/.exec(begun.output));
    const path = `/api/jobs/${id}`;
    const api = new HttpClient(`http://127.0.0.1:${port}`).withKey(/API key +(msk_\S+)/.exec(begun.output)![1]!);
    const job = await waitFor('its end', async () => {
      const { body } = await api.get(path);
      return body.status !== 'queued' && body.status !== 'running' && body;
    });
    expect(job).toMatchObject({
      status: 'completed',
      progress: { percent: 100, stepsPassed: 3, stepsFailed: 0 },
      claims: { attempted: 2, eobUploaded: 1, noEobFound: 1 },
    });
    await waitFor('its cost', async () => (await api.get(path)).body.totalCostUsd > 0);

    const agentId = job.agentId as string;
    const workerOf = () =>
      Number(/"pid":(\d+)/.exec(readFileSync(join(folder, 'agents', agentId, 'worker.json'), 'utf8'))![1]);
    const worker = workerOf();
    process.kill(processesOf(folder).find(({ command }) => command.includes('standalone'))!.pid, 'SIGKILL');
    await waitFor('the service to be back', () => begun.output.includes('the service is back'));
    expect(workerOf()).toBe(worker);
    const live = await api.get(`/api/agents/${agentId}/status`);
    const { vmIp } = (await api.get(`/api/agents/${agentId}`)).body;
    expect(live.body).toMatchObject({ status: 'online', vmState: 'running', vmIp });
    const stopped = await api.post(`/api/agent/${agentId}/action`, { action: 'stop' });
    expect(stopped.body).toMatchObject({ success: true, status: 'stopping' });
    await waitFor('the stop', async () => (await api.get(`/api/agents/${agentId}/status`)).body.status === 'stopped');
    expect(processesOf(folder).filter(({ command }) => command.includes('worker'))).toEqual([]);
    // The service gives its worker the right key at each start; one that is refused does not stand in its way.
    const refusedKey = join(folder, 'agents', agentId, 'machine/service-key');
    for (const [action, status] of [['start', 'starting'] as const, ['reboot', 'rebooting'] as const]) {
      await writeFile(refusedKey, 'msk_refusedkey1_0123456789abcdef');
      expect((await api.post(`/api/agent/${agentId}/action`, { action })).body.status).toBe(status);
      await waitFor(action, async () => (await api.get(`/api/agents/${agentId}/status`)).body.status === 'online');
      await waitFor('the key to be forgotten', () => !existsSync(refusedKey));
    }
    expect(await begun.end('SIGTERM')).toBe(0);
    await waitFor('its processes to be gone', () => processesOf(folder).length === 0);
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    [
      'a port that is taken',
      async () => ['--port', String(await takenPort()), '--data-dir', join(dataDir, 'unused')],
      /Port \d+ is taken by another program; choose a free one/,
    ],
    ['a port that is none', async () => ['--port', 'http'], /"http" is not a port/],
    ['processes that are none', async () => ['--processes', '0'], /"0" is no number of processes/],
    ['an option that is none', async () => ['--prot', '1'], /Unknown option '--prot'.*--help/],
    [
      'a data folder that cannot be',
      async () => ['--port', String(await freePort()), '--data-dir', '/dev/null/x'],
      /data folder \/dev\/null\/x cannot be made/,
    ],
  ])('says in one sentence what is wrong: %s', async (_, args, sentence) => {
    const begun = start(await args());
    expect(await begun.exit).toBe(1);
    expect(begun.output.trim().split('\n').filter(Boolean).at(-1)).toMatch(sentence);
    expect(begun.output).not.toMatch(/\bat \w+.*\(/);
  });
});

const takers: { close(): void }[] = [];

async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  takers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

afterAll(() => takers.forEach((server) => server.close()));
