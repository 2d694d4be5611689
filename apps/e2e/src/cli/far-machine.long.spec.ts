// This test is long because it installs a worker on a second host and waits for its runs.
// A short test of the same code: apps/e2e/src/far-worker.spec.ts
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { Start } from '../npm-start';
import { canMakeHosts, TwoHosts } from '../two-hosts';
import { CliFixture } from './cli-fixture';

jest.setTimeout(240_000);

const port = 3000;
const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a machine on which the command line installs a worker (requires root for network namespaces)', () => {
  let folder: string;
  let hosts: TwoHosts;
  let service: Start;
  let cli: CliFixture;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-far-cli-'));
    hosts = new TwoHosts();
    const args = ['--host', '0.0.0.0', '--port', String(port), '--data-dir', join(folder, 'data')];
    service = new Start([...args, '--no-demo'], {}, TwoHosts.buildHostPrefix(hosts.service));
    await service.waitUntilReady();
    cli = await CliFixture.createFixture(folder, TwoHosts.buildHostPrefix(hosts.worker));
  });
  afterAll(async () => {
    await cli?.runCli(['worker', 'stop']);
    await service?.endStart('SIGTERM');
    await hosts?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('a worker that one command installs comes online, runs snippets, and survives the end of the terminal', async () => {
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(service.output)!;
    const [, apiKey] = /API key +(msk_\S+)/.exec(service.output)!;
    const url = `http://${hosts.service.address}:${port}`;
    expect((await cli.runCli(['login', '--url', url, '--key', '-'], { input: apiKey! })).code).toBe(0);
    const refused = await cli.runCli(['worker', 'install', '--name', 'Far']);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('sign in as a person') });
    expect((await cli.runCli(['login', '--url', url, '--email', email!], { input: `${password}\n` })).code).toBe(0);

    const at = cli.startTyping(['worker', 'install', '--name', 'Far', '--label', 'desk']);
    expect([await at.exit, at.output]).toEqual([0, expect.stringContaining('is online')]);
    const workerFolder = join(cli.home, '.local/state/muster-worker');
    expect(statSync(join(workerFolder, 'worker.env')).mode & 0o777).toBe(0o600);
    const key = /SERVICE_API_KEY=(\S+)/.exec(readFileSync(join(workerFolder, 'worker.env'), 'utf8'))![1]!;
    const id = /AGENT_ID=(\S+)/.exec(readFileSync(join(workerFolder, 'worker.env'), 'utf8'))![1]!;
    expect(at.output).toMatch(/This machine has python \(\d/);
    expect(at.output).not.toContain(key);
    expect(readCommandLines().filter((line) => line.includes(key))).toEqual([]);
    expect(await cli.runCli(['worker', 'install'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is already installed'),
    });

    const snippet = await cli.runCli(['agents', 'run-snippet', 'Far', '-'], {
      input: 'import socket\nprint("hello", 1 + 1)',
    });
    expect(snippet).toMatchObject({ code: 0, out: 'hello 2\n' });
    expect((await cli.runCli(['worker', 'stop'])).code).toBe(0);
    await waitFor('the worker to end', async () =>
      (await cli.runCli(['worker', 'stop'])).out.includes('is not running'),
    );
    expect((await cli.runCli(['worker', 'start'])).code).toBe(0);
    expect((await cli.runCli(['worker', 'status'])).out).toMatch(/running as process \d+/);
    expect((await cli.runCli(['worker', 'upgrade'])).out).toMatch(/The new worker is running as process \d+/);
    await waitFor('the upgraded worker', async () => {
      const result = await cli.runCli(['agents', 'run-snippet', 'Far', '-c', 'print("back")']);
      return result.out === 'back\n';
    });
    expect((await cli.runCli(['worker', 'logs', '-n', '200'])).out).toContain('the service accepted the handshake');
    // The settings of the installation are stored, so every later start uses them.
    expect(readFileSync(join(workerFolder, 'worker.env'), 'utf8')).toMatch(/^PATH=/m);
    expect((await cli.runCli(['worker', 'uninstall'])).out).toContain('The worker is removed from this machine.');
    expect(existsSync(workerFolder)).toBe(false);
    expect((await cli.runCli(['worker', 'status'])).err).toContain('No worker is installed');

    // The line that the console shows installs the worker in the same folder, so the same commands manage it.
    const line = `curl -fsSL ${url}/worker/install.sh | sh`;
    const env = {
      ...{ PATH: process.env['PATH']!, HOME: cli.home, AGENT_ID: id, SERVICE_API_KEY: key },
      IMAGING_PATH_MAP: String.raw`\\server\images=/mnt/$(images) "one"`,
    };
    const [program, ...args] = [...TwoHosts.buildHostPrefix(hosts.worker), 'sh', '-c', line];
    const installOutput = execFileSync(program!, args, { env, encoding: 'utf8' });
    expect(installOutput).toMatch(/^python +yes \(\d/m);
    expect(readFileSync(join(workerFolder, 'worker.env'), 'utf8')).toContain(
      `IMAGING_PATH_MAP=${env.IMAGING_PATH_MAP}\n`,
    );
    await waitFor('the worker to run', async () =>
      (await cli.runCli(['worker', 'status'])).out.includes('running as process'),
    );
    expect((await cli.runCli(['worker', 'status'])).out).toMatch(/has +python \(\d/);
    expect((await cli.runCli(['worker', 'upgrade'])).out).toMatch(/The new worker is running as process \d+/);
    await waitFor('the capabilities of the worker', async () =>
      (await cli.runCli(['agents', 'get', id])).out.includes('python ('),
    );
    expect((await cli.runCli(['worker', 'uninstall'])).out).toContain('The worker is removed from this machine.');
  });
});

function readCommandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}
