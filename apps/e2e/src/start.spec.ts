import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(180_000);

describe('npm start', () => {
  let dataDir: string;
  const starts = new Set<Start>();
  /** The start on the shared folder and port; the first test creates it. */
  let running: Start | undefined;
  let port: number;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-start-'));
  });
  afterAll(async () => {
    await running?.endStart('SIGTERM');
    await Promise.all([...starts].map((start) => start.endStart('SIGKILL')));
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0, 90_000);
    await rm(dataDir, { recursive: true, force: true });
  });

  const startNpm = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const started = new Start(args, env);
    starts.add(started);
    return started;
  };

  it('npm start uses one port, prints its credentials once, and runs its example to the end', async () => {
    port = await findFreePort();
    const first = startNpm(['--port', String(port), '--data-dir', dataDir]);
    running = first;
    await first.waitUntilReady();
    expect(first.output).toMatch(/admin +\S+@\S+ +\S+/);
    const [, apiKey] = /API key +(msk_\S+)/.exec(first.output)!;
    expect(first.output).toMatch(/ready in \d+\.\d+ s/);
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    // A busy disk can delay a check beyond its limit of two seconds. Such a check fails, and the next one tries again.
    await waitFor('deep health', async () => (await http.get('/api/health/deep')).body.status === 'ok');
    expect((await http.withKey(apiKey!).get('/api/organization/settings')).status).toBe(200);
    expect((await stat(join(dataDir, 'secrets.json'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(dataDir, 'muster.log'), 'utf8')).not.toContain(apiKey!);
    const [, id] = await waitFor('the example', () => /\/app\/runs\/(\S+)/.exec(first.output));
    const path = `/api/jobs/${id}`;
    const api = http.withKey(apiKey!);
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
  });

  it('a second npm start on the same data is refused without disturbing the first one', async () => {
    const second = startNpm(['--port', String(await findFreePort()), '--data-dir', dataDir]);
    expect(await second.exit).toBe(1);
    expect(second.output).toMatch(/muster: Another Muster \(pid \d+\) is using/);
    expect((await fetch(`http://127.0.0.1:${port}/api/health/deep`)).status).toBe(200);
  });

  it('npm start ends all its processes on SIGTERM', async () => {
    expect(await running!.endStart('SIGTERM')).toBe(0);
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0);
    running = undefined;
  });

  it('npm start reports an unknown option in one sentence', async () => {
    const wrong = startNpm(['--prot', '1']);
    expect(await wrong.exit).toBe(1);
    const lastLine = wrong.output.trim().split('\n').filter(Boolean).at(-1);
    expect(lastLine).toMatch(/Unknown option '--prot'.*--help/);
    expect(wrong.output).not.toMatch(/\bat \w+.*\(/);
  });
});
