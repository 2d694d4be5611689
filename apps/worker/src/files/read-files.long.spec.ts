// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/files/read-files.spec.ts
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

describe('Files of runs', () => {
  let service: FakeService;
  let worker: WorkerHarness;
  let runs: string;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
    await worker.start();
    runs = join(worker.folder, 'runs');
    mkdirSync(join(runs, 'job', 'out'), { recursive: true });
    writeFileSync(join(runs, 'job', 'out', 'report.txt'), 'all is well\n');
    writeFileSync(join(worker.folder, 'private.txt'), 'not for you');
  });
  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const requestFiles = async (action: 'list' | 'read', path: unknown): Promise<Json> => {
    const command = buildCommand('files', { action, path });
    expect(await service.pushCommand(command)).toBe(202);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };
  const readFile = (path: unknown) => requestFiles('read', path);
  const expectedRefusal = (code: string) => ({ status: 'failed', code, error: expect.any(String) });

  it('a file of a run is refused with a reason if it is missing, of the wrong kind or at an invalid path', async () => {
    expect(await readFile('job/out')).toEqual(expectedRefusal('invalid_payload'));
    expect(await requestFiles('list', 'job/out/report.txt')).toEqual(expectedRefusal('invalid_payload'));
    expect(await readFile('job/none.txt')).toEqual(expectedRefusal('not_found'));
    expect(await readFile('job/out/report.txt/more')).toEqual(expectedRefusal('not_found'));
    expect(await readFile('x'.repeat(300))).toEqual(expectedRefusal('invalid_payload'));
    expect(await readFile('x/'.repeat(600))).toEqual(expectedRefusal('invalid_payload'));
    expect(await readFile('a\0b')).toEqual(expectedRefusal('invalid_payload'));
    expect(await readFile(7)).toEqual(expectedRefusal('invalid_payload'));
  });

  it('a file of a run is checked after opening, so a link that changes concurrently cannot lead outside', async () => {
    const [way, good, bad] = ['way', 'good', 'bad'].map((name) => join(runs, name));
    mkdirSync(good!);
    writeFileSync(join(good!, 'private.txt'), 'yours');
    symlinkSync(worker.folder, bad!);
    let isOver = false;
    const swapFilesUntilOver = async () => {
      while (!isOver) {
        for (const from of [good!, bad!]) {
          renameSync(from, way!);
          await new Promise(setImmediate);
          renameSync(way!, from);
        }
      }
    };
    const juggling = swapFilesUntilOver();
    const answers = [];
    for (let at = 0; at < 40; at += 1) answers.push(await readFile('way/private.txt'));
    isOver = true;
    await juggling;
    expect(JSON.stringify(answers)).not.toContain('not for you');
  });

  it('a pipe or a device in the folder of runs is not opened', async () => {
    execFileSync('mkfifo', [join(runs, 'job', 'pipe')]);
    expect(await readFile('job/pipe')).toEqual(expectedRefusal('permission_denied'));
    symlinkSync('/dev/zero', join(runs, 'job', 'zero'));
    expect(await readFile('job/zero')).toEqual(expectedRefusal('permission_denied'));
  });

  it('a run’s files can be read up to a maximum size and only as text, and a list contains at most 500 of them', async () => {
    writeFileSync(join(runs, 'large'), 'x'.repeat(1024 * 1024 + 1));
    expect(await readFile('large')).toEqual(expectedRefusal('payload_too_large'));
    writeFileSync(join(runs, 'full'), 'x'.repeat(1024 * 1024));
    expect((await readFile('full')).output.content).toHaveLength(1024 * 1024);
    writeFileSync(join(runs, 'colours'), '\u001b'.repeat(1024 * 1024));
    expect(await readFile('colours')).toEqual(expectedRefusal('payload_too_large'));
    writeFileSync(join(runs, 'picture'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]));
    expect(await readFile('picture')).toEqual(expectedRefusal('unsupported_media_type'));
    for (let at = 0; at < 510; at += 1) writeFileSync(join(runs, 'job', `f${at}`), '');
    const { output } = await requestFiles('list', 'job');
    expect(output.files).toHaveLength(500);
    expect(output.cut).toContain('500');
  });

  it('a file of a run shows neither the worker’s secrets nor the secrets of the current run', async () => {
    writeFileSync(join(runs, 'copied'), `${service.apiKeys[0]} ${service.signingSecret}`);
    expect((await readFile('copied')).output.content).toBe('[redacted] [redacted]');
    const env = { PASSWORD: 'hunter2222' };
    const script = 'import os, time\nopen("note.txt", "w").write(os.environ["PASSWORD"])\ntime.sleep(60)';
    const run = buildRunCommand(script, { secretNames: ['PASSWORD'] }, env);
    expect(await service.pushCommand(run)).toBe(202);
    const path = `${run.jobId}/note.txt`;
    let note = await readFile(path);
    while (note.status !== 'success' || note.output.content === '') note = await readFile(path);
    expect(note.output.content).toBe('[redacted]');
  });
});
