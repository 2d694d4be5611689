import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { Start } from '../npm-start';
import { canMakeHosts, TwoHosts } from '../two-hosts';
import { CliLab } from './cli-lab';

jest.setTimeout(240_000);

const port = 3000;
const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a machine that its own command line makes an agent (takes root, for network namespaces)', () => {
  let folder: string;
  let hosts: TwoHosts;
  let service: Start;
  let cli: CliLab;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-far-cli-'));
    hosts = new TwoHosts();
    const args = ['--host', '0.0.0.0', '--port', String(port), '--data-dir', join(folder, 'data')];
    service = new Start([...args, '--no-demo'], {}, TwoHosts.on(hosts.service));
    await service.ready();
    cli = await CliLab.make(folder, TwoHosts.on(hosts.worker));
  });
  afterAll(async () => {
    await cli?.run(['worker', 'stop']);
    await service?.end('SIGTERM');
    await hosts?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('is online with one command, runs what it is given, and outlives the terminal', async () => {
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(service.said)!;
    const [, apiKey] = /API key +(msk_\S+)/.exec(service.said)!;
    const url = `http://${hosts.service.address}:${port}`;
    expect((await cli.run(['login', '--url', url, '--key', '-'], { input: apiKey! })).code).toBe(0);
    const refused = await cli.run(['worker', 'install', '--name', 'Far']);
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('sign in as a person') });
    expect((await cli.run(['login', '--url', url, '--email', email!], { input: `${password}\n` })).code).toBe(0);

    const at = cli.type(['worker', 'install', '--name', 'Far', '--label', 'desk']);
    expect([await at.exit, at.said]).toEqual([0, expect.stringContaining('and online')]);
    const place = join(cli.home, '.local/state/muster-worker');
    expect(statSync(join(place, 'worker.env')).mode & 0o777).toBe(0o600);
    const key = /SERVICE_API_KEY=(\S+)/.exec(readFileSync(join(place, 'worker.env'), 'utf8'))![1]!;
    expect(at.said).not.toContain(key);
    expect(commandLines().filter((line) => line.includes(key))).toEqual([]);
    expect(await cli.run(['worker', 'install'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is installed'),
    });

    const snippet = await cli.run(['agents', 'run-snippet', 'Far', '-'], {
      input: 'import socket\nprint("hello", 1 + 1)',
    });
    expect(snippet).toMatchObject({ code: 0, out: 'hello 2\n' });
    expect((await cli.run(['worker', 'stop'])).code).toBe(0);
    await waitFor('its end', async () => (await cli.run(['worker', 'stop'])).out.includes('does not run'));
    expect((await cli.run(['worker', 'start'])).code).toBe(0);
    await waitFor('it to be back', async () => {
      const said = await cli.run(['agents', 'run-snippet', 'Far', '-c', 'print("back")']);
      return said.out === 'back\n';
    });
    expect(existsSync(join(place, 'worker.log'))).toBe(true);
  });
});

function commandLines(): string[] {
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
