// This test is long because it starts the development servers and waits for rebuilds.
// A short test of the same code: tools/serve/src/served-app.spec.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitFor } from '@muster/testing';

const root = resolve(__dirname, '../../..');

describe('nx serve', () => {
  // Ports below the ephemeral range, which Postgres and Redis choose from, and apart from a developer's own stack.
  const first = 10_000 + (process.pid % 1000) * 10;
  const buildUrl = (offset: number) => `http://127.0.0.1:${first + offset}`;
  let folder: string;
  const serves: ChildProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-serve-'));
  });
  afterAll(async () => {
    for (const child of serves) child.kill('SIGKILL');
    await waitFor('the stack to end', async () => !(await isListening(first + 9)));
    await rm(folder, { recursive: true, force: true });
  });

  const startServe = (name: string) => {
    const child = spawn(process.execPath, [join(root, 'tools/serve/serve.mjs'), name], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        MUSTER_DEV_PORT: String(first),
        MUSTER_DEV_DIR: folder,
      },
    });
    serves.push(child);
    const served = { child, output: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (served.output += chunk.toString()));
    }
    return served;
  };
  const stopServe = async ({ child }: { child: ChildProcess }, signal: NodeJS.Signals) => {
    const ended = once(child, 'exit');
    child.kill(signal);
    return (await ended)[0] as number | null;
  };

  it('serve processes that start at the same time share one dev stack, which ends after the last of them', async () => {
    const gateway = startServe('gateway');
    const proxy = startServe('dev-proxy');
    const standalone = startServe('standalone');
    const readStatus = async (url: string) => (await fetch(url).catch(() => undefined))?.status;
    await waitFor(
      'a response of the gateway through the proxy',
      async () => (await readStatus(`${buildUrl(0)}/api/health/deep`)) === 200,
      45_000,
    );

    // Only the process that started the stack prints the accounts.
    const credentials = [gateway, proxy, standalone].filter(({ output }) => output.includes('admin@muster.local'));
    expect(credentials).toHaveLength(1);
    for (const file of ['environment.json', 'secrets.json', 'first-start.json']) {
      expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    }
    const { BOOTSTRAP_API_KEY: key } = JSON.parse(await readFile(join(folder, 'first-start.json'), 'utf8')) as Record<
      string,
      string
    >;
    const settings = await fetch(`${buildUrl(0)}/api/organization/settings`, { headers: { 'x-api-key': key! } });
    expect(settings.status).toBe(200);
    expect(await readStatus(`${buildUrl(0)}/api/cron/tick`)).toBe(502);
    await waitFor('the message of standalone', () =>
      standalone.output.includes('idle while any of the six apps is served'),
    );
    expect(await isListening(first + 7)).toBe(false);

    expect(await stopServe(gateway, 'SIGTERM')).toBe(0);
    expect(await isListening(first + 1)).toBe(false);
    await waitFor('standalone', async () => (await readStatus(`${buildUrl(7)}/api/health`)) === 200);

    expect(await stopServe(standalone, 'SIGINT')).toBe(0);
    // SIGKILL: the process cannot close its connection properly. Its app ends when the channel closes.
    await stopServe(proxy, 'SIGKILL');
    await waitFor('the stack to end', async () => !(await isListening(first + 9)));
    expect(existsSync(join(folder, 'lock'))).toBe(false);
    expect(await readFile(join(folder, 'stack.log'), 'utf8')).toMatch(/ended\n$/);
    await waitFor('the proxy to end', async () => !(await isListening(first)));
  }, 120_000);
});

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const listening = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return listening;
}
