import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newId } from '@muster/platform';
import { type Harness, startHarness, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { renderInstallScript } from './install-script';

const run = promisify(execFile);

describe('the worker download', () => {
  let harness: Harness;
  let home: string;
  /** The address where the harness listens; its configuration names another one. */
  let service: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    service = harness.http.url;
    home = await mkdtemp(join(tmpdir(), 'muster-install-'));
  });
  afterAll(async () => {
    await harness.close();
    await rm(home, { recursive: true, force: true });
  });

  const runInstallScript = async (env: Record<string, string>) => {
    const script = join(home, 'install.sh');
    await writeFile(script, (await harness.http.get('/worker/install.sh')).text);
    // The installer must not use the systemd of the machine that runs this test.
    const own = {
      PATH: process.env['PATH']!,
      HOME: home,
      XDG_RUNTIME_DIR: home,
      MUSTER_WORKER_SYSTEMD: 'no',
      SERVICE_BASE_URL: service,
      ...env,
    };
    return run('sh', [script], { env: own }).then(
      ({ stdout }) => stdout,
      ({ stderr }: { stderr: string }) => stderr,
    );
  };

  it('the worker is served as one file with its hash', async () => {
    const file = await harness.http.get('/worker/muster-worker.js');
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    const sha256 = createHash('sha256').update(file.text).digest('hex');
    expect((await harness.http.get('/worker/muster-worker.js.sha256')).text).toBe(`${sha256}  muster-worker.js\n`);
  });

  it('one command installs a worker with its settings in a separate folder for each agent of the machine', async () => {
    const { as } = await harness.makeTenant();
    const { agent, workerKey } = (await as.admin.post('/api/agents', { name: newId(), provider: 'external' })).body;
    // If a shell evaluated the file, it would execute this value as a command or split it.
    const paths = String.raw`\\server\images=/mnt/$(touch ran) "one" two`;
    const output = await runInstallScript({ AGENT_ID: agent.id, SERVICE_API_KEY: workerKey, IMAGING_PATH_MAP: paths });
    expect(output).toMatch(/the worker runs and writes to [^]*^python +(yes|no)/m);
    const folder = join(home, '.local/state/muster-worker');
    const settings = await readFile(join(folder, 'worker.env'), 'utf8');
    expect(settings).toContain(`SERVICE_API_KEY=${workerKey}\nAGENT_ID=${agent.id}\n`);
    const lock = await waitFor('the worker', () => readFile(join(folder, 'data/worker.lock'), 'utf8').catch(() => ''));
    const { pid } = JSON.parse(lock) as { pid: number };
    expect((await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')).toContain(`IMAGING_PATH_MAP=${paths}`);
    process.kill(pid, 'SIGTERM');
    await waitFor('the worker to stop', () => !isProcessAlive(pid));
    // A second agent of this machine has its own folder.
    const other = (await as.admin.post('/api/agents', { name: newId(), provider: 'external' })).body;
    await runInstallScript({ AGENT_ID: other.agent.id, SERVICE_API_KEY: other.workerKey });
    const otherLock = join(`${folder}-${other.agent.id}`, 'data/worker.lock');
    const second = await waitFor('the other worker', () => readFile(otherLock, 'utf8').catch(() => ''));
    process.kill((JSON.parse(second) as { pid: number }).pid, 'SIGTERM');
    await waitFor('the worker to stop', () => !isProcessAlive((JSON.parse(second) as { pid: number }).pid));
  });

  it('the install script installs nothing without a key, or with characters that a shell interprets', async () => {
    expect(await runInstallScript({ AGENT_ID: newId() })).toContain('SERVICE_API_KEY is not set');
    expect(await runInstallScript({ AGENT_ID: '$(id)', SERVICE_API_KEY: 'msk_a' })).toContain(
      'may contain only letters, digits, _ and -',
    );
  });

  it('the install script installs nothing if the downloaded file does not match its hash', async () => {
    const { text } = await harness.http.get('/worker/install.sh');
    const cut = text.replace('/muster-worker.js.sha256"', '/install.sh"');
    await writeFile(join(home, 'cut.sh'), cut);
    const env = {
      PATH: process.env['PATH']!,
      HOME: home,
      SERVICE_BASE_URL: service,
      AGENT_ID: newId(),
      SERVICE_API_KEY: 'msk_a',
    };
    await expect(run('sh', [join(home, 'cut.sh')], { env })).rejects.toThrow('does not have the hash');
  });

  it('the install script downloads from the address at which the caller reached the service', () => {
    expect(renderInstallScript('https://muster.example.com')).toContain(
      'SERVICE_BASE_URL:-https://muster.example.com}',
    );
  });
});

function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
