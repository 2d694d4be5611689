// This test is long because it starts the command line many times against a server that fails or sends hostile output.
// A short test of the same code: apps/e2e/src/cli/cli.spec.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { CliFixture } from './cli-fixture';

jest.setTimeout(120_000);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

describe('the command line with a failing server or machine', () => {
  let folder: string;
  let cli: CliFixture;
  let server: Server;
  let env: NodeJS.ProcessEnv;
  /** The server's answers, in order; the last one is repeated. */
  let answers: Answer[] = [];
  const requests: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-bad-days-'));
    cli = await CliFixture.createFixture(folder);
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      request.resume();
      (answers.length > 1 ? answers.shift()! : answers[0]!)(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    env = { MUSTER_URL: url, MUSTER_API_KEY: 'msk_1' };
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    requests.length = 0;
  });

  const answerWith =
    (status: number, body: unknown): Answer =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const closeConnection: Answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"id":', () => response.destroy());
  };
  const runCliWithEnv = (...args: string[]) => cli.runCli(args, { env });
  it('the command line reports not_muster if the server’s answers have other fields or never end', async () => {
    const isNotMuster = { code: 3, out: '', err: expect.stringContaining('(not_muster)') };
    for (const body of [{}, [], 'text', null]) {
      answers = [answerWith(200, body)];
      for (const command of [['jobs', 'list'], ['agents', 'list'], ['usage']])
        expect([command, body, await runCliWithEnv(...command)]).toEqual([
          command,
          body,
          expect.objectContaining(isNotMuster),
        ]);
    }
    answers = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const writeUntilBackpressure = (): void => {
          while (!response.destroyed && response.write(' '.repeat(1024 * 1024)));
          if (!response.destroyed) response.once('drain', writeUntilBackpressure);
        };
        writeUntilBackpressure();
      },
    ];
    expect(await runCliWithEnv('jobs', 'list')).toMatchObject(isNotMuster);
  });

  it('the command line removes control characters from an error, even if it is written to a file', async () => {
    answers = [answerWith(409, { code: 'con\u009b31mflict', requestId: 'a\u001b[2Jb', detail: 'no\u001b]0;x\u0007' })];
    const { err } = await runCliWithEnv('jobs', 'list');
    expect(err.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  const counts = { total: 2, queued: 0, running: 0, completed: 2, failed: 0, cancelled: 0, rejected: 0 };

  it('the command line keeps waiting for a batch while the service is unavailable', async () => {
    const id = newId();
    const open = answerWith(200, { id, ...counts, running: 1, completed: 1 });
    const ended = answerWith(200, { id, ...counts });
    answers = [
      open,
      closeConnection,
      answerWith(502, {}),
      answerWith(503, { code: 'service_unavailable' }),
      open,
      ended,
    ];
    const result = await runCliWithEnv('batches', 'get', id, '--wait', '--json');
    expect([result.code, JSON.parse(result.out)]).toEqual([0, { id, ...counts }]);
  });

  it('the command line reports not_muster if the server answers with a page', async () => {
    answers = [(_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>')];
    const result = await runCliWithEnv('agents', 'list');
    expect(result).toMatchObject({ code: 3, out: '', err: expect.stringMatching(/not_muster[^]*without \/app/) });
  });

  it('the command line finds a name among thousands of entries, and accepts --json before a command', async () => {
    const schedule = { id: newId(), name: 'Zähne 歯 🦷' };
    const buildSchedulePage = (from: number) =>
      Array.from({ length: 200 }, (_, at) =>
        from + at === 2999 ? schedule : { id: newId(), name: `Other ${from + at}` },
      );
    answers = [
      (request, response) => {
        const { pathname, searchParams } = new URL(request.url!, 'http://service.test');
        const from = Number(searchParams.get('cursor') ?? 0);
        const nextCursor = from + 200 < 3000 ? String(from + 200) : null;
        const body =
          pathname === '/api/schedules'
            ? { schedules: buildSchedulePage(from), nextCursor }
            : { ...schedule, enabled: false };
        answerWith(200, body)(request, response);
      },
    ];
    const result = await runCliWithEnv('--json', 'schedules', 'pause', schedule.name);
    expect([result.code, JSON.parse(result.out)]).toEqual([0, { ...schedule, enabled: false }]);
  });

  it('the command line shows control characters of a name as plain text', async () => {
    const id = newId();
    const orders = '\u001b]0;owned\u0007\u001b[2J\u009b2J\u001b[8m\u202e\u2066\r\nmuster: all is well';
    answers = [answerWith(200, { id, name: `Nightly${orders}`, enabled: false })];
    const script = `MUSTER_URL='${env['MUSTER_URL']}' MUSTER_API_KEY=msk_1 exec '${process.execPath}' '${cli.file}' schedules pause ${id}`;
    const child = spawn('script', ['-qfec', script, '/dev/null'], { env: cli.buildEnvironment() });
    let screen = '';
    child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString()));
    await once(child, 'close');
    expect(screen.trimEnd()).toBe('Nightly]0;owned[2J2J[8m muster: all is well is paused.');
  });

  it('the command line indents further lines of a run’s error, so that none looks like its own output', async () => {
    const [id, progress] = [newId(), { percent: 0, stepsTotal: 0, stepsPassed: 0, stepsFailed: 0 }];
    const ended = {
      status: 'failed',
      errorCode: 'script_failed',
      error: 'no\ncompleted after 1 s\u202e',
      durationMs: 1,
    };
    answers = [answerWith(200, { id, ...ended, progress, totalCostUsd: 0 })];
    const result = await runCliWithEnv('jobs', 'wait', id);
    expect([result.code, result.err]).toEqual([
      1,
      expect.stringContaining('script_failed: no\n    completed after 1 s\n'),
    ]);
  });

  it('the command line reports what is wrong with local files, and then sends no change', async () => {
    answers = [answerWith(200, { agents: [], nextCursor: null })];
    expect(await runCliWithEnv('batch', 'rows.csv', '--workflow', newId(), '--agent', newId())).toMatchObject({
      code: 2,
      err: expect.stringContaining('File not found: rows.csv'),
    });
    const configFolder = join(cli.home, '.config/muster');
    mkdirSync(configFolder, { recursive: true });
    for (const text of ['null', '{}', '{"contexts":[]}', '{"contexts"']) {
      writeFileSync(join(configFolder, 'logins.json'), text);
      const result = await cli.runCli(['whoami']);
      expect([text, result.code, result.err]).toEqual([text, 2, expect.stringContaining('is not a valid logins file')]);
    }
    const nowhere = { ...env, MUSTER_CONFIG_DIR: '/dev/null/muster', MUSTER_URL: undefined };
    expect(await cli.runCli(['contexts'], { env: nowhere })).toMatchObject({
      code: 2,
      err: expect.stringContaining('ENOTDIR'),
    });
    expect(requests).toEqual([]);
  });

  it('the command line reports that its output cannot be written, but ignores a closed pipe', async () => {
    const agent = { id: newId(), name: 'Front desk', status: 'online' };
    answers = [answerWith(200, { agents: [agent], nextCursor: null })];
    const command = `MUSTER_URL='${env['MUSTER_URL']}' MUSTER_API_KEY=msk_1 muster agents list`;
    expect(await cli.runShell(`${command} > /dev/full`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be written: .*ENOSPC/),
    });
    expect(await cli.runShell(`set -o pipefail; ${command} | true`)).toMatchObject({ code: 0, err: '' });
  });

  it('the command line does not end another process that has the pid of the worker', async () => {
    const at = join(folder, 'worker');
    mkdirSync(join(at, 'data'), { recursive: true });
    writeFileSync(join(at, 'worker.env'), `SERVICE_BASE_URL=${env['MUSTER_URL']}\nSERVICE_API_KEY=k\nAGENT_ID=a\n`);
    const other = spawn('sleep', ['60']);
    const exited = once(other, 'exit');
    writeFileSync(join(at, 'data/worker.lock'), JSON.stringify({ pid: other.pid, startTime: '1' }));
    const result = await runCliWithEnv('worker', 'stop', '--dir', at);
    expect(result).toMatchObject({ code: 0, out: 'The worker is not running.\n' });
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill();
    await exited;
  });

  it('the command line hides a key argument from the list of processes', async () => {
    answers = [() => undefined];
    const typed = ['login', '--url', env['MUSTER_URL']!, '--key', 'msk_typed'];
    const child = spawn(process.execPath, [cli.file, ...typed], { env: cli.buildEnvironment(), stdio: 'ignore' });
    await waitFor('the first request', () => requests.length === 1);
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toMatch(/msk_/);
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  });

  it('the command line forwards a webhook only to the specified address, and shows its type as plain text', async () => {
    const [id, paths] = [newId(), [] as string[]];
    const receiver = createServer((request, response) => {
      paths.push(request.url!);
      response.writeHead(307, { location: '/elsewhere' }).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const delivery = { id: newId(), type: 'job.failed\u001b[2J\u009b2J\r\nmuster: all is well' };
    answers = [
      ({ method, url }, response) => {
        if (method === 'DELETE') return answerWith(204, undefined)({} as IncomingMessage, response);
        const body = url!.endsWith(delivery.id) ? { body: '{}' } : { deliveries: [delivery], nextCursor: null };
        return answerWith(200, method === 'POST' ? { id, secret: 'whsec_AAAA' } : body)(
          {} as IncomingMessage,
          response,
        );
      },
    ];
    const { port } = receiver.address() as AddressInfo;
    const child = spawn(process.execPath, [cli.file, 'webhooks', 'listen', String(port)], {
      env: cli.buildEnvironment(env),
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await waitFor('the forwarded webhook', () => output.includes('→ 307'));
    const exited = once(child, 'exit');
    child.kill();
    await exited;
    receiver.close();
    expect(paths).toEqual(['/']);
    expect(output).toContain('job.failed[2J2J muster: all is well → 307');
    expect(output.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('the command line deletes its endpoint on every signal that ends it while it listens', async () => {
    const id = newId();
    answers = [
      (request, response) => {
        const body = request.method === 'POST' ? { id, secret: 'whsec_AAAA' } : { deliveries: [], nextCursor: null };
        answerWith(request.method === 'DELETE' ? 204 : 200, body)(request, response);
      },
    ];
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      requests.length = 0;
      const child = spawn(process.execPath, [cli.file, 'webhooks', 'listen', '4000'], {
        env: cli.buildEnvironment(env),
        stdio: 'ignore',
      });
      await waitFor('the command to listen', () => requests.some((each) => each.includes('/deliveries')));
      const exited = once(child, 'exit');
      child.kill(signal);
      expect(await exited).toEqual([0, null]);
      expect(requests.at(-1)).toBe(`DELETE /api/webhook-endpoints/${id}`);
    }
  });
});
