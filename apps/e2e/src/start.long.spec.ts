// Long: kills and restarts npm start.
// Short: apps/e2e/src/start.spec.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, HttpClient, waitFor } from '@muster/testing';
import { processesOf, Start } from './npm-start';

jest.setTimeout(180_000);

describe('npm start that is killed and started again', () => {
  let dataDir: string;
  const starts = new Set<Start>();
  /** On the shared folder and port, until it is killed. */
  let running: Start;
  let port: number;

  const start = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const begun = new Start(args, env);
    starts.add(begun);
    return begun;
  };

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-start-'));
    port = await freePort();
    running = start(['--port', String(port), '--data-dir', dataDir]);
    await running.ready();
  });
  afterAll(async () => {
    await Promise.all([...starts].map((start) => start.end('SIGKILL')));
    await rm(dataDir, { recursive: true, force: true });
  });

  it('brings back a part that dies', async () => {
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    for (const part of ['postgres -D', 'redis-server', 'standalone']) {
      const victim = processesOf(dataDir).find(({ command }) => command.includes(part));
      if (!victim) throw new Error(`no ${part} among ${JSON.stringify(processesOf(dataDir))}`);
      process.kill(victim.pid, 'SIGKILL');
      await waitFor(
        `${part} to be back`,
        async () => {
          const health = await http.get('/api/health/deep').catch(() => null);
          return (
            health?.body.status === 'ok' &&
            processesOf(dataDir).some(({ command, pid }) => command.includes(part) && pid !== victim.pid)
          );
        },
        40_000,
      );
    }
  });

  it('leaves nothing behind when it is killed with -9, and starts again after it', async () => {
    // The next start may take over the worker of a local agent, which outlives its service.
    const left = processesOf(dataDir).flatMap(({ pid, command }) => (command.includes('worker') ? [] : [pid]));
    await running.end('SIGKILL');
    // Nobody waits for what it left on the port and the folder, but the next one.
    const again = start(['--port', String(port), '--data-dir', dataDir]);
    await again.ready();
    await waitFor(
      'its processes to be gone',
      () => processesOf(dataDir).every(({ pid }) => !left.includes(pid)),
      90_000,
    );
    expect(await again.end('SIGINT')).toBe(0);
    await waitFor('everything to be gone', () => processesOf(dataDir).length === 0);
  });

  it('takes the credentials that it is given, and forgets everything with --reset', async () => {
    const port = await freePort();
    const given = {
      BOOTSTRAP_ORGANIZATION: 'Given',
      BOOTSTRAP_ADMIN_EMAIL: 'given@example.com',
      BOOTSTRAP_ADMIN_PASSWORD: 'given-password',
      BOOTSTRAP_API_KEY: 'msk_givenkey1_0123456789abcdef0123456789',
      PORT: String(port),
      MUSTER_DATA_DIR: dataDir,
    };
    const begun = start(['--reset', '--no-demo'], given);
    await begun.ready();
    const http = new HttpClient(`http://127.0.0.1:${port}`);
    const admin = await http.signIn('given@example.com', 'given-password');
    expect((await admin.get('/api/auth/me')).body.organization.name).toBe('Given');
    const key = await http.withKey(given.BOOTSTRAP_API_KEY).get('/api/organization/settings');
    expect(key.body.idleStopMinutes).toBe(30);
    await begun.end('SIGTERM');
  });

  it('runs twice side by side', async () => {
    const other = await mkdtemp(join(tmpdir(), 'muster-start-'));
    const ports = [await freePort(), await freePort()];
    const both = [dataDir, other].map((folder, i) => start(['--port', String(ports[i]), '--data-dir', folder]));
    await Promise.all(both.map((begun) => begun.ready()));
    for (const port of ports) expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200);
    await both[0]!.end('SIGTERM');
    expect((await fetch(`http://127.0.0.1:${ports[1]}/api/health/deep`)).status).toBe(200);
    await both[1]!.end('SIGTERM');
    await rm(other, { recursive: true, force: true });
  });
});
