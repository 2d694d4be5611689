import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeZip, type ZipEntry } from '@muster/testing';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';
import type { Bundle } from './bundle';
import { BundleStore } from './bundle-store.harness';

describe('A run with a bundle', () => {
  let service: FakeService;
  let store: BundleStore;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    store = await BundleStore.start();
    worker = new WorkerHarness(service);
  });
  afterEach(async () => {
    await worker.remove();
    await store.stop();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const buildBundleReference = ({ digest, url }: Bundle) => ({ digest: `sha256:${digest}`, url });
  const computeSha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
  const runWithBundle = async (script: string, files: ZipEntry[] | Bundle, payload = {}): Promise<Json> => {
    const bundle = Array.isArray(files) ? store.addBundle(makeZip(files)) : files;
    const command = buildRunCommand(script, { bundle: buildBundleReference(bundle), ...payload });
    expect(await service.pushCommand(command)).toBe(202);
    const terminal = await service.waitUntil('the end', () => service.findTerminalReport(command.jobId));
    // The worker accepts the next run only after it has closed this run's folder.
    await service.waitUntil('the worker to be idle', () => {
      const heartbeats = service.listAccepted('/api/agent/heartbeat');
      return heartbeats.at(-1)?.body.runningJobIds.length === 0;
    });
    return { ...terminal, root: join(worker.folder, 'runs', command.jobId), bundle };
  };

  it('a run imports modules from its bundle before Python’s library, and the manifest lists each file’s checksum', async () => {
    await worker.start();
    const module = 'import json\nname = "packed " + json.word';
    const files = [
      { name: 'pack/', content: '', mode: 0o040755 },
      { name: 'pack/__init__.py', content: module },
      { name: 'json.py', content: 'word = "over the library’s"' },
      { name: 'data/rows.csv', content: 'a,b\n' },
    ];
    // Modules that Python imports before the script starts are Python's own. Later imports look in the bundle first.
    const script = `
import importlib, sys
sys.modules.pop("json", None)
import pack, os
word = pack.name
sys.modules.pop("json", None)
sys.path.remove(os.environ["MUSTER_RUN_ROOT"] + "/bundle")
import muster
muster.result([word, os.path.relpath(pack.__file__, os.environ["MUSTER_RUN_ROOT"]), os.environ["PYTHONPATH"].split(":")[0]])
`;
    const { result, root, bundle } = await runWithBundle(script, files);
    expect(result).toEqual(['packed over the library’s', 'bundle/pack/__init__.py', join(root, 'bundle')]);
    const manifest = JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8')) as Json;
    expect(manifest.bundle).toEqual({ digest: `sha256:${bundle.digest}` });
    expect(manifest.files).toMatchObject({
      'script.py': { sha256: computeSha256(script), size: Buffer.byteLength(script) },
      'bundle/pack/__init__.py': { sha256: computeSha256(module), size: Buffer.byteLength(module) },
      'bundle/data/rows.csv': { sha256: computeSha256('a,b\n'), size: 4 },
    });
    expect(Object.keys(manifest.files as object).sort()).toEqual([
      'bundle/data/rows.csv',
      'bundle/json.py',
      'bundle/pack/__init__.py',
      'inputs.json',
      'muster.py',
      'script.py',
    ]);
  });

  it('a run reads a file of its bundle with the longest path that a bundle may have', async () => {
    await worker.start();
    const name = `${'y'.repeat(255)}/`.repeat(3).concat('y'.repeat(253), '/yy');
    expect(Buffer.byteLength(name)).toBe(1024);
    const script = `import muster\nmuster.result(open("bundle/${name}").read())`;
    expect(await runWithBundle(script, [{ name, content: 'read' }])).toMatchObject({
      status: 'completed',
      result: 'read',
    });
  });

  it('a run with an invalid bundle fails before its script starts and writes nothing outside its folder', async () => {
    await worker.start();
    const script = 'open("started", "w").close()';
    const right = { name: 'right.py', content: '' };
    const hostile: [string, ZipEntry[] | Bundle][] = [
      ['parent_path', [right, { name: '../../../outside', content: 'x' }]],
      ['absolute_path', [right, { name: join(worker.folder, 'outside'), content: 'x' }]],
      [
        'link',
        [
          { name: 'link', content: worker.folder, mode: 0o120777 },
          { name: 'link/outside', content: 'x' },
        ],
      ],
      ['size_mismatch', [right, { name: 'bomb', content: ' '.repeat(9_000_000), claimedSize: 1_000_000 }]],
      ['ratio', [right, { name: 'bomb', content: ' '.repeat(11_000_000) }]],
      ['path_too_long', [right, { name: `${'x'.repeat(240)}/`.repeat(17), content: '', mode: 0o040755 }]],
      ['not_a_zip', store.addBundle(Buffer.from('print("no zip")'))],
      ['the bundle does not match its digest', store.addBundle(makeZip([right]), '0'.repeat(64))],
    ];
    for (const [reason, files] of hostile) {
      const { root, status, errorCode, error } = await runWithBundle(script, files);
      expect({ status, errorCode, error }).toEqual({
        status: 'failed',
        errorCode: 'bundle_rejected',
        error: expect.stringContaining(reason),
      });
      expect([existsSync(join(root, 'started')), existsSync(join(root, 'bundle'))]).toEqual([false, false]);
    }
    expect(listFilesWithRetry(worker.folder).filter((name) => name.includes('outside'))).toEqual([]);
  });
});

/** Returns all paths in a folder. It starts again if the worker removes a spool during the read. */
function listFilesWithRetry(folder: string): string[] {
  for (;;) {
    try {
      return readdirSync(folder, { recursive: true }).map(String);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
