import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, type Json } from './testing/fake-service.harness';
import { signText } from './protocol/signature';
import { buildCommand, buildRunCommand, WorkerHarness } from './testing/worker-process.harness';

describe('Commands', () => {
  let service: FakeService;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
  });

  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const pushAndWaitForResult = async (command: { commandId: string }): Promise<Json> => {
    expect(await service.pushCommand(command)).toBe(202);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };

  it('a command without a valid signature is refused and has no effect', async () => {
    await worker.start();
    const touched = join(worker.folder, 'touched');
    const command = buildCommand('snippet', { code: `open(${JSON.stringify(touched)}, "w")` });
    const text = JSON.stringify(command);
    const now = Date.now();
    const secret = service.signingSecret;
    const right = signText(secret, text, now);
    const bad: Record<string, string>[] = [
      {},
      { 'x-service-signature': '' },
      { 'x-service-signature': signText('another secret', text, now) },
      { 'x-service-signature': signText(secret, `${text} `, now) },
      { 'x-service-signature': signText(secret, text, now - 310_000) },
      { 'x-service-signature': signText(secret, text, now + 310_000) },
      { 'x-service-signature': right.replace(/^t=/, 't=1,t=') },
      { 'x-service-signature': right.replace(/v1=.*/, 'v1=') },
      { 'x-api-key': service.apiKeys[0]! },
    ];
    for (const headers of bad) expect(await service.pushCommand(command, headers)).toBe(401);
    expect(existsSync(touched)).toBe(false);
    const [t, v1] = right.split(',');
    const rotated = { 'x-service-signature': `${t},v1=${'0'.repeat(64)},${v1}` };
    expect(await service.pushCommand(command, rotated)).toBe(202);
    await service.waitUntil('it ran', () => existsSync(touched));
  });

  it('a worker without a tunnel receives its commands by long polling', async () => {
    worker.spawn({ MUSTER_WORKER_LISTEN: 'off' });
    const { body } = await service.waitUntil('a handshake', () => service.waitForHandshake());
    expect(body.tunnelHostname).toBeNull();
    service.interfere = ({ path, method }) =>
      method === 'GET' && path.endsWith('/commands') && service.pending.length === 0 ? { status: 503 } : undefined;
    const commands = [
      buildCommand('snippet', { code: 'print(1)' }),
      buildRunCommand('pass'),
      buildCommand('format_disk', {}),
    ];
    service.pending.push(...commands);
    for (const { commandId } of [commands[0], commands[2]]) {
      await service.waitUntil('the result', () => service.findResult(commandId));
    }
    expect(service.findResult(commands[0].commandId)).toMatchObject({ status: 'success', output: '1\n' });
    expect(service.findResult(commands[2].commandId)).toMatchObject({ status: 'failed' });
    await service.waitUntil('the end', () => service.findTerminalReport(commands[1].jobId));
  });

  it.each([
    ['ahead of', 3_600_000, 'print(1)', 30_000, { status: 'success', output: '1\n' }],
    ['behind', -3_600_000, 'import time\ntime.sleep(600)', 4_000, { status: 'failed' }],
  ])('a command has the time until its deadline if the machine’s clock is an hour %s the service’s', async (...row) => {
    const [, aheadMs, code, leftMs, expected] = row;
    worker.spawn({ MUSTER_WORKER_LISTEN: 'off' });
    await service.waitUntil('a handshake', () => service.waitForHandshake());
    const serviceTime = Date.now() - aheadMs;
    const command = buildCommand('snippet', { code }, { deadline: new Date(serviceTime + leftMs).toISOString() });
    service.interfere = ({ path, method }) =>
      method === 'GET' && path.endsWith('/commands') && !service.findResult(command.commandId)
        ? { status: 200, headers: { date: new Date(serviceTime).toUTCString() }, body: { commands: [command] } }
        : undefined;
    const result = await service.waitUntil('the result', () => service.findResult(command.commandId));
    expect(result).toMatchObject(expected);
  });

  it('a command reports the output, the error and the exit code of its code', async () => {
    await worker.start();
    const failed = await pushAndWaitForResult(
      buildCommand('snippet', { code: 'print("so far")\nraise SystemExit(4)' }),
    );
    expect(failed).toEqual({ status: 'failed', output: 'so far\n', exitCode: 4, error: 'exit code 4' });

    const named = buildCommand('function', {
      name: 'add',
      code: 'def add(a, b):\n  return {"sum": a + b}',
      args: { a: 1, b: 2 },
    });
    expect(JSON.parse((await pushAndWaitForResult(named)).output)).toEqual({ sum: 3 });
    const bare = buildCommand('function', { name: 'f', code: 'result = sorted(args)', args: [2, 1] });
    expect(JSON.parse((await pushAndWaitForResult(bare)).output)).toEqual([1, 2]);

    const secret = buildCommand('snippet', {
      code: 'import os\nprint(os.environ["PASSWORD"], os.environ["AGENT_ID"])',
      secretNames: ['PASSWORD'],
    });
    expect((await pushAndWaitForResult({ ...secret, env: { PASSWORD: 'hunter2222' } })).output).toBe(
      `[redacted] ${secret.agentId}\n`,
    );

    const large = await pushAndWaitForResult(buildCommand('snippet', { code: 'print("x" * (4 * 1024 * 1024 - 1))' }));
    expect(large.output).toHaveLength(4 * 1024 * 1024);
    const tooLarge = await pushAndWaitForResult(buildCommand('snippet', { code: 'print("x" * (9 * 1024 * 1024))' }));
    expect(tooLarge.output).toMatch(/^x+\n… \[cut: the output has 9437185 bytes\]$/);
    expect(Buffer.byteLength(tooLarge.output)).toBe(4 * 1024 * 1024);
    expect(readdirSync(join(worker.folder, 'commands'))).toEqual([]);
  });

  it('a pushed script is stored, but never outside of the folder for scripts', async () => {
    await worker.start();
    const pushed = await pushAndWaitForResult(
      buildCommand('script', { action: 'push', filename: 'portals/a.py', script: 'pass' }),
    );
    expect(pushed.status).toBe('success');
    expect(readFileSync(join(worker.folder, 'scripts/portals/a.py'), 'utf8')).toBe('pass');
    for (const filename of ['../a.py', '/a.py', 'a/../../b.py', 'a\\..\\b', '.hidden', 'a//b', '']) {
      expect(
        await pushAndWaitForResult(buildCommand('script', { action: 'push', filename, script: 'x' })),
      ).toMatchObject({ status: 'failed' });
    }
  });
});
