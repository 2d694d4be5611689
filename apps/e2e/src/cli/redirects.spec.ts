import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliFixture } from './cli-fixture';

jest.setTimeout(120_000);

const key = 'msk_redirected_0123456789';
const password = 'the password of a person';
const value = 'the value of a secret';

describe('the command line with a server that is not a Muster service', () => {
  let folder: string;
  let cli: CliFixture;
  let server: Server;
  let target: Server;
  /** Everything that each server received: lines of requests, headers and bodies. */
  let received: string;
  let receivedByTarget: string;
  let status: number;
  /** Whether the server answers as a Muster service before the client signs in, and redirects only later requests. */
  let isHealthy: boolean;
  /** The answer to all other requests; null if the server redirects them. */
  let meAnswer: string | null;

  const recordRequest = async (request: IncomingMessage) => {
    let text = `${request.method} ${request.url} ${JSON.stringify(request.headers)}\n`;
    for await (const chunk of request) text += String(chunk);
    return text;
  };
  const getServerUrl = (each: Server) => `http://127.0.0.1:${(each.address() as AddressInfo).port}`;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-redirects-'));
    cli = await CliFixture.createFixture(folder);
    target = createServer((request, response) => {
      void recordRequest(request).then((text) => {
        receivedByTarget += text;
        response.setHeader('content-type', 'application/json').end('{"uptimeSeconds": 1}');
      });
    }).listen(0, '127.0.0.1');
    server = createServer((request, response) => {
      void recordRequest(request).then((text) => {
        received += text;
        if (isHealthy && request.url === '/api/health') return response.end('{"uptimeSeconds": 1}');
        if (meAnswer !== null) return response.setHeader('content-type', 'application/json').end(meAnswer);
        return response.writeHead(status, { location: `${getServerUrl(target)}${request.url}` }).end();
      });
    }).listen(0, '127.0.0.1');
    await Promise.all([once(server, 'listening'), once(target, 'listening')]);
  });
  afterAll(async () => {
    for (const each of [server, target]) {
      each.closeAllConnections();
      await new Promise((resolve) => each.close(resolve));
    }
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    [received, receivedByTarget, isHealthy, meAnswer] = ['', '', true, null];
  });

  const isRedirected = () => ({
    code: 3,
    out: '',
    err: expect.stringMatching(new RegExp(`redirects to ${getServerUrl(target)}\\..*\\(redirected\\)`, 's')),
  });
  const signIns: [name: string, args: string[], input: string][] = [
    ['an API key', ['--key', '-'], key],
    ['a password', ['--email', 'dana@example.com'], password],
    ['a browser', ['--browser'], ''],
  ];

  it.each([301, 302, 303, 307, 308])(
    'muster login and muster secrets set report a redirect by %d and send nothing to its target',
    async (code) => {
      status = code;
      for (const [name, args, input] of signIns) {
        const login = await cli.runCli(['login', '--url', getServerUrl(server), ...args], { input });
        expect([name, login]).toEqual([name, isRedirected()]);
      }
      const env = { MUSTER_URL: getServerUrl(server), MUSTER_API_KEY: key };
      expect(await cli.runCli(['secrets', 'set', 'PORTAL_PASSWORD'], { input: value, env })).toEqual(isRedirected());
      // The server that the user named received everything, and the target of the redirect received nothing.
      for (const sent of [key, password, value]) expect(received).toContain(sent);
      expect(receivedByTarget).toBe('');
      expect(existsSync(join(cli.home, '.config/muster/logins.json'))).toBe(false);
    },
  );

  it.each([301, 302, 303, 307, 308])(
    'muster login sends no credentials at all to a server whose health check is a redirect by %d',
    async (code) => {
      [status, isHealthy] = [code, false];
      const login = await cli.runCli(['login', '--url', getServerUrl(server), '--key', '-'], { input: key });
      expect(login).toEqual(isRedirected());
      expect(login.err).toContain('No credentials were sent.');
      expect(received).toMatch(/^GET \/api\/health [^\n]*\n$/);
      expect(received).not.toContain(key);
      expect(receivedByTarget).toBe('');
    },
  );

  it.each(['{}', 'null', '[]', '{"user": {}}'])(
    'muster login reports not_muster if the server answers a login with %s, and saves nothing',
    async (answer) => {
      meAnswer = answer;
      const login = await cli.runCli(['login', '--url', getServerUrl(server), '--key', '-'], { input: key });
      expect(login).toEqual({ code: 3, out: '', err: expect.stringContaining('(not_muster)') });
      expect(login.err).not.toContain('undefined');
      expect(existsSync(join(cli.home, '.config/muster/logins.json'))).toBe(false);
    },
  );
});
