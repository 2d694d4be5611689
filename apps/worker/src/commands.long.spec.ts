// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/commands.spec.ts
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, type Json } from './testing/fake-service.harness';
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

  it('the log lines of a command have its request id and trace id, even after a restart of the worker', async () => {
    await worker.start();
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const env = { MUSTER_REQUEST_ID: 'asked-1', TRACEPARENT: `00-${traceId}-00f067aa0ba902b7-01` };
    const snippet = buildCommand('snippet', { code: 'pass' }, { env });
    await pushAndWaitForResult(snippet as never);
    const run = buildRunCommand('import time\ntime.sleep(60)', {}, env);
    expect(await service.pushCommand(run)).toBe(202);
    const findLogLines = (message: string) =>
      worker.stderr.split('\n').flatMap((line) => {
        const parsed = line.startsWith('{') ? (JSON.parse(line) as Json) : {};
        return parsed.message === message ? [parsed] : [];
      });
    await service.waitUntil('both to start', () => findLogLines('starting a command').length === 2);
    await worker.kill();
    await worker.start();
    await service.waitUntil('it to be taken over', () => findLogLines('resuming a run').length === 1);
    for (const line of [...findLogLines('starting a command'), ...findLogLines('resuming a run')]) {
      expect(line).toMatchObject({ requestId: 'asked-1', traceId });
    }
    for (const line of findLogLines('the service accepted the handshake')) expect(line).not.toHaveProperty('traceId');
  });

  it('a command is refused if it is for another agent, is of an unknown kind, or has a path as its id', async () => {
    await worker.start();
    const right = buildCommand('snippet', { code: 'pass' });
    for (const wrong of [
      { agentId: randomUUID() },
      { kind: 'format_disk' },
      { commandId: '../../etc/passwd' },
      { kind: 'run', jobId: '../up' },
      { kind: 'run' },
      { payload: 'text' },
    ]) {
      expect(await service.pushCommand({ ...right, ...wrong })).toBe(400);
    }
    expect(
      await service.pushCommand({ ...right, payload: { code: 'x'.repeat(8 * 1024 * 1024) } }).catch(() => 413),
    ).toBe(413);
    expect(readFileSync(join(worker.folder, 'journal.jsonl'), 'utf8')).toBe('');
  });

  it('the worker fetches commands when the answer to a heartbeat reports that commands are pending', async () => {
    await worker.start();
    await service.waitUntil('the first poll', () => service.requests.find(({ method }) => method === 'GET'));
    const snippet = buildCommand('snippet', { code: 'print(2)' });
    service.pending.push(snippet);
    await service.waitUntil('the result', () => service.findResult(snippet.commandId));
  });

  it('a command of the builder leaves its sources in the folder of its session', async () => {
    await worker.start();
    const code = 'import os\nprint(os.environ["MUSTER_RUN_ROOT"] == os.getcwd(), os.environ["WORKFLOW_PACK_ID"])';
    const builder = buildCommand('builder', { phase: 'explore', portal: 'practice', code, runRoot: 'builder/s1' });
    expect((await pushAndWaitForResult({ ...builder, env: { WORKFLOW_PACK_ID: 'p1' } })).output).toBe('True p1\n');
    const root = join(worker.folder, 'builder', 's1');
    const { files } = JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8')) as Json;
    expect(files['script.py']).toEqual({ sha256: createHash('sha256').update(code).digest('hex'), size: code.length });
  });

  it('start_recording records the screen if the machine has ffmpeg and a display', async () => {
    const ffmpeg =
      '#!/bin/sh\nfor file; do :; done\nprintf film > "$file"\ntrap "exit 0" INT\nwhile :; do sleep 0.01; done\n';
    writeFileSync(join(worker.folder, 'ffmpeg'), ffmpeg, { mode: 0o755 });
    await worker.start({ DISPLAY: ':0', PATH: `${worker.folder}:/usr/bin:/bin` });
    const started = await pushAndWaitForResult(buildCommand('start_recording', { name: 'demo' }));
    const { recordingId } = started.output;
    await service.waitUntil('the film', () => existsSync(join(worker.folder, 'recordings', recordingId, 'film.mkv')));
    expect((await pushAndWaitForResult(buildCommand('attach_recording', { recordingId }))).status).toBe('success');
    const stopped = await pushAndWaitForResult(buildCommand('stop_recording', { recordingId }));
    expect(service.uploads.get(stopped.output.key)?.toString()).toBe('film');
    expect((await pushAndWaitForResult(buildCommand('stop_recording', { recordingId }))).status).toBe('failed');

    const overtaken = { recordingId: randomUUID() };
    expect((await pushAndWaitForResult(buildCommand('stop_recording', overtaken))).status).toBe('failed');
    expect(await pushAndWaitForResult(buildCommand('start_recording', overtaken))).toEqual({
      status: 'failed',
      error: 'the recording was stopped before it started',
    });
  });

  it('the result of a command is sent with a shorter output if the service refuses the output', async () => {
    await worker.start();
    service.interfere = ({ path, body }) =>
      path.endsWith('/result') && body.output.length > 200_000 ? { status: 400 } : undefined;
    const result = await pushAndWaitForResult(buildCommand('snippet', { code: 'print("x" * 300000)' }));
    expect(result).toMatchObject({ status: 'success', exitCode: 0 });
    expect(result.output).toMatch(/^x{100000}\n… \[cut: the service rejected the output\]$/);
  });

  it('the script of a run gets a separate environment, not the environment of the worker', async () => {
    await worker.start({ NOT_FOR_SCRIPTS: 'x', LANG: 'C.UTF-8' });
    const run = buildRunCommand(
      'import muster, os\nmuster.result([dict(os.environ), os.getcwd()])',
      { variables: { A: 'b' } },
      { A: 'b' },
    );
    await service.pushCommand(run);
    const [env, cwd] = (await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).result;
    const root = join(worker.folder, 'runs', run.jobId);
    expect(env).toMatchObject({
      A: 'b',
      LANG: 'C.UTF-8',
      MUSTER_JOB_ID: run.jobId,
      MUSTER_RUN_ROOT: root,
      SERVICE_BASE_URL: service.url,
      SERVICE_API_KEY: '[redacted]',
      SERVICE_SIGNING_SECRET: '[redacted]',
      PYTHONUNBUFFERED: '1',
    });
    expect(env.NOT_FOR_SCRIPTS ?? env.MUSTER_WORKER_DIR).toBeUndefined();
    expect(cwd).toBe(root);
    expect(statSync(root).mode & 0o777).toBe(0o700);
  });

  it('a script can create sockets deep below TMPDIR for any worker folder without leaving a link behind', async () => {
    await worker.start();
    const code = `
import os, socket
place = os.environ["TMPDIR"] + "/org.chromium.Chromium.scoped_dir.012345/SingletonSocket"
os.makedirs(os.path.dirname(place))
socket.socket(socket.AF_UNIX).bind(place)
here = os.environ["MUSTER_RUN_ROOT"] + "/tmp"
print(len(here) > 60, os.path.samefile(os.environ["TMPDIR"], here), os.environ["TMPDIR"])
`;
    const { output, status } = await pushAndWaitForResult(buildCommand('snippet', { code }));
    expect([status, output]).toEqual(['success', expect.stringMatching(/^True True \/tmp\/muster-[0-9a-f]{12}\n$/)]);
    expect(existsSync(output.trim().split(' ')[2])).toBe(false);
    const run = buildRunCommand(`${code}\nimport muster, time\nmuster.result(os.environ["TMPDIR"])\ntime.sleep(600)`);
    await service.pushCommand(run);
    const listLogMessages = () => service.listLogs(run.jobId).map(({ message }) => String(message));
    const [firstLine] = await service.waitUntil(
      'the first line',
      () => listLogMessages().length > 0 && listLogMessages(),
    );
    const link = firstLine!.split(' ')[2]!;
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    // The next worker removes the link of a killed worker too.
    await worker.kill('SIGKILL');
    await worker.start();
    await service.pushCommand(buildCommand('stop_job', { jobId: run.jobId, graceMs: 0 }));
    await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(() => lstatSync(link)).toThrow('ENOENT');
  });
});
