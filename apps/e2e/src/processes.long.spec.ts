// This test is long because it starts, kills and restarts several processes behind one port.
// A short test of the same code: apps/e2e/src/start.spec.ts
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(180_000);

describe('npm start with several service processes', () => {
  let dataDir: string;
  let port: number;
  let started: Start;
  let api: HttpClient;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-processes-'));
    port = await findFreePort();
    started = new Start(['--port', String(port), '--data-dir', dataDir, '--processes', '2'], {
      RATE_LIMIT_FAILED_LOGINS_PER_MINUTE: '5',
    });
    await started.waitUntilReady();
    api = new HttpClient(`http://127.0.0.1:${port}`).withKey(/API key +(msk_\S+)/.exec(started.output)![1]!);
  });
  afterAll(async () => {
    await started.endStart('SIGKILL');
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0, 90_000);
    await rm(dataDir, { recursive: true, force: true });
  });

  const findServicePids = () =>
    findProcesses(dataDir)
      .filter(({ command }) => command.includes('standalone'))
      .map(({ pid }) => pid);
  /** The pid of the service process that supervises local workers; undefined while the lock file is being replaced. */
  const readSupervisorPid = () => {
    try {
      return JSON.parse(readFileSync(join(dataDir, 'agents/supervisor.lock'), 'utf8')).pid as number;
    } catch {
      return undefined;
    }
  };
  /** Sends a request over a new connection, which another process may accept. */
  const fetchOnNewConnection = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { ...init.headers, connection: 'close' } });
  const countAnsweredRequests = async (internalPort: string) => {
    const metrics = await (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
    return Number(
      /http_request_seconds_count\{method="GET",route="\/api\/health",[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0,
    );
  };

  it('npm start prints the number of processes, and distributes connections over all processes', async () => {
    expect(started.output).toContain('2 behind one port');
    expect(findServicePids()).toHaveLength(2);
    for (let n = 0; n < 20; n += 1) expect((await fetchOnNewConnection('/api/health')).status).toBe(200);
    const ports = [...started.output.matchAll(/:(\d+)\/metrics/g)].map(([, internal]) => internal!);
    expect(ports).toHaveLength(2);
    for (const internal of ports) expect(await countAnsweredRequests(internal)).toBeGreaterThan(4);
  });

  it('several processes create one first organization, and count failed logins together', async () => {
    const [, email, password] = /super admin +(\S+@\S+) +(\S+)/.exec(started.output)!;
    const root = await new HttpClient(`http://127.0.0.1:${port}`).signIn(email!, password!);
    expect((await root.get('/api/admin/organizations')).body.organizations).toHaveLength(1);
    await waitFor('the first 50 seconds of a minute', () => new Date().getSeconds() < 50, 15_000);
    const signInWithWrongPassword = async () => {
      const body = JSON.stringify({ email: 'admin@muster.local', password: 'wrong-password' });
      return (
        await fetchOnNewConnection('/api/auth/login', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
      ).status;
    };
    const answers: number[] = [];
    for (let n = 0; n < 12; n += 1) answers.push(await signInWithWrongPassword());
    expect(answers.filter((status) => status === 401)).toHaveLength(5);
    expect(answers.filter((status) => status === 429)).toHaveLength(7);
  });

  it('the service answers while the process that supervises the workers is killed and restarted', async () => {
    const { agents } = (await api.get('/api/agents')).body;
    const { workflows } = (await api.get('/api/workflows')).body;
    const agentId = agents[0].id as string;
    const readWorkerPid = () => {
      const file = join(dataDir, 'agents', agentId, 'worker.json');
      return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')).pid as number);
    };
    const worker = await waitFor('the worker of the agent', readWorkerPid);
    const launchGreeting = () =>
      api.post('/api/jobs/launch', { agentId, workflowId: workflows[0].id, variables: { GREETING: 'Hello' } });
    const jobs = [await launchGreeting(), await launchGreeting()].map(({ body }) => body.jobId as string);

    const [victim, before] = [readSupervisorPid()!, findServicePids()];
    process.kill(victim, 'SIGKILL');
    // Connections that the victim had accepted fail, so the test waits before it sends requests again.
    await waitFor('the end of the victim to be noticed', () => started.output.includes('ended unexpectedly'));
    for (let n = 0; n < 10; n += 1) expect((await fetchOnNewConnection('/api/health/deep')).status).toBe(200);
    jobs.push(...[await launchGreeting(), await launchGreeting()].map(({ body }) => body.jobId as string));
    const heir = await waitFor('the other process to supervise the workers', () => {
      const pid = readSupervisorPid();
      return pid !== victim && pid;
    });
    expect(before).toContain(heir);
    await waitFor(
      'two service processes',
      () => started.output.includes('of the service is running again') && findServicePids().length === 2,
      40_000,
    );
    for (const id of jobs) {
      await waitFor(`run ${id}`, async () => (await api.get(`/api/jobs/${id}`)).body.status === 'completed', 60_000);
    }
    expect(readWorkerPid()).toBe(worker);
    // One run more than `jobs`, because the first start also runs its example.
    expect((await api.get('/api/usage')).body.completed).toBe(jobs.length + 1);
  });

  it('all processes end on SIGTERM of npm start, and when npm start is killed', async () => {
    expect(await started.endStart('SIGTERM')).toBe(0);
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0);
    started = new Start(['--port', String(port), '--data-dir', dataDir], { MUSTER_PROCESSES: '2' });
    await started.waitUntilReady();
    expect(findServicePids()).toHaveLength(2);
    await waitFor('the worker', () => findProcesses(dataDir).some(({ command }) => command.includes('worker')));
    await started.endStart('SIGKILL');
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0, 90_000);
  });
});
