import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, WorkerHarness } from '../testing/worker-process.harness';

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

  it('the files in the folders of runs can be listed and read', async () => {
    expect(await requestFiles('list', '')).toMatchObject({
      status: 'success',
      output: { path: '', files: [{ name: 'job' }] },
    });
    expect(await requestFiles('list', 'job/out/')).toEqual({
      status: 'success',
      output: {
        path: 'job/out',
        files: [{ name: 'report.txt', kind: 'file', size: 12, modifiedAt: expect.any(String) }],
      },
    });
    expect(await readFile('./job//out/report.txt')).toEqual({
      status: 'success',
      output: { path: 'job/out/report.txt', size: 12, content: 'all is well\n' },
    });
  });

  it('a path or a link that leads out of the folder of runs is refused', async () => {
    symlinkSync(worker.folder, join(runs, 'job', 'up'));
    symlinkSync('/etc/passwd', join(runs, 'job', 'passwd'));
    symlinkSync('/', join(runs, 'root'));
    // All links are refused, even a link to a permitted folder.
    symlinkSync(join(runs, 'job', 'out'), join(runs, 'inside'));
    for (const path of ['../private.txt', 'job/../../private.txt', '/etc/passwd', 'job/up/private.txt', 'job/passwd']) {
      expect([path, await readFile(path)]).toEqual([path, expectedRefusal('permission_denied')]);
    }
    for (const path of ['..', '/', 'root', 'root/etc', 'job/up', 'inside', 'root/proc/self']) {
      expect([path, await requestFiles('list', path)]).toEqual([path, expectedRefusal('permission_denied')]);
    }
    expect(await readFile('inside/report.txt')).toEqual(expectedRefusal('permission_denied'));
    expect((await requestFiles('list', 'job')).output.files).toContainEqual(
      expect.objectContaining({ name: 'up', kind: 'link' }),
    );
  });
});
