import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnvironment } from '../frame/environment';
import { runCli } from '../frame/run-cli';

describe('packs publish', () => {
  let base: string;
  let folder: string;
  let server: Server;
  let printed: string;
  const requests: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'muster-pack-'));
    folder = join(base, 'pack');
    mkdirSync(join(folder, 'lib'), { recursive: true });
    mkdirSync(join(base, 'private'));
    writeFileSync(join(folder, 'main.py'), 'print(1)');
    writeFileSync(join(base, 'private', 'key'), 'hunter2');
    [printed, requests.length] = ['', 0];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((printed += String(text))));
  });
  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(base, { recursive: true });
  });

  const publishFolder = (path: string) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = { HOME: base, MUSTER_URL: url, MUSTER_API_KEY: 'msk_0123456789ab_0123456789abcdef', NO_COLOR: '1' };
    return runCli(['packs', 'publish', path, '--pack', 'claims'], readEnvironment(env));
  };

  it.each<[string, string, string]>([
    ['a link to a file outside', '../../private/key', 'lib/link'],
    ['a link to a file of the pack', '../main.py', 'lib/link'],
    ['a link to a folder outside', '../private', 'linked'],
    ['a link to nothing', 'nothing', 'linked'],
  ])('the command line refuses a pack with %s before it sends a request', async (_, target, path) => {
    symlinkSync(target, join(folder, path));
    expect(await publishFolder(folder)).toBe(2);
    expect(printed).toContain(`${path} is a link or another special file`);
    expect(printed).toContain('Replace a link with the file itself.');
    expect(requests).toEqual([]);
  });

  it.each(['', '/'])(
    'the command line refuses a symbolic link to a pack folder, also if the path ends in "%s"',
    async (end) => {
      symlinkSync(folder, join(base, 'link'));
      expect(await publishFolder(join(base, 'link') + end)).toBe(2);
      expect(printed).toContain('link is a symbolic link, which is not followed');
      expect(requests).toEqual([]);
    },
  );

  it('the command line sends a pack that contains no links', async () => {
    await publishFolder(folder);
    expect(requests).not.toEqual([]);
  });
});
