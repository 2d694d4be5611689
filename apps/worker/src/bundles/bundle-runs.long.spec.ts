// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/bundles/bundle-runs.spec.ts
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeZip, type ZipEntry } from '@muster/testing';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';
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

  it('a run starts main.py of its bundle if the workflow’s script is empty', async () => {
    await worker.start();
    const main = 'import muster, os, helper\nmuster.result([helper.word, muster.variables, os.getcwd()])';
    const files = [
      { name: 'main.py', content: main },
      { name: 'helper.py', content: 'word = "beside it"' },
    ];
    const { result, root } = await runWithBundle(' \n', files, { variables: { A: 'b' } });
    expect(result).toEqual(['beside it', { A: 'b' }, root]);
    expect(await runWithBundle('', [{ name: 'other.py', content: '' }])).toMatchObject({
      status: 'failed',
      errorCode: 'nothing_to_run',
      error: 'the workflow has no script, and the bundle has no main.py',
    });
  });

  it('a run is not affected by an earlier run that changed the bundles that the worker stores', async () => {
    await worker.start();
    const bundle = store.addBundle(makeZip([{ name: 'pack.py', content: 'word = "mine"' }]));
    const script = 'import pack, muster\nmuster.result(pack.word)';
    expect((await runWithBundle(script, bundle)).result).toBe('mine');
    const evil = makeZip([{ name: 'pack.py', content: 'word = "evil"' }]).toString('base64');
    const change = `
import base64, glob, pathlib
for path in glob.glob("../../bundles/*.zip"):
    pathlib.Path(path).write_bytes(base64.b64decode("${evil}"))
muster = __import__("muster")
muster.result(len(glob.glob("../../bundles/*.zip")))
`;
    expect((await runWithBundle(change, bundle)).result).toBe(1);
    expect((await runWithBundle(script, bundle)).result).toBe('mine');
    expect(store.countFetches(bundle)).toBe(2);
  });

  it('a killed worker’s bundle download is resumed, and a run fails with a code if its bundle is missing', async () => {
    await worker.start();
    const bytes = makeZip([{ name: 'pack.py', content: `word = "${'long'.repeat(1000)}"` }]);
    const padded = makeZip([
      { name: 'pack.py', content: 'word = "whole"' },
      { name: 'rest.bin', content: computeSha256('x').repeat(100) + bytes.toString('hex') },
    ]);
    const bundle = store.addBundle(padded);
    let release!: () => void;
    store.cuts = [100];
    const command = buildRunCommand('pass', { bundle: buildBundleReference(bundle) });
    await service.pushCommand(command);
    await service.waitUntil('a part of it', () => store.countFetches(bundle) > 0);
    store.released = new Promise((resolve) => (release = resolve));
    const part = join(worker.folder, 'bundles', `${bundle.digest}.part`);
    await service.waitUntil('the part', () => existsSync(part) && readFileSync(part).length === 100);
    await worker.kill('SIGKILL');
    release();
    await worker.start();
    expect(await service.waitUntil('its end', () => service.findTerminalReport(command.jobId))).toMatchObject({
      status: 'failed',
    });
    expect((await runWithBundle('import pack, muster\nmuster.result(pack.word)', bundle)).result).toBe('whole');
    expect(store.requests.at(-1)!.range).toBe('bytes=100-');
    expect(
      await runWithBundle('pass', { digest: 'a'.repeat(64), url: bundle.url.replace(/[^/]+$/, 'gone') }),
    ).toMatchObject({
      status: 'failed',
      errorCode: 'bundle_unavailable',
      error: "the bundle's URL returned status 404",
    });
  });

  it('the worker retains the folders of runs for a while, but unpacked bundles of only the newest runs', async () => {
    await worker.start();
    const content = 'word = "packed"';
    const bundle = store.addBundle(makeZip([{ name: 'pack.py', content }]));
    const roots: string[] = [];
    for (let count = 0; count < 6; count += 1)
      roots.push(((await runWithBundle('pass', bundle)) as { root: string }).root);
    const listUnpackedRoots = () => roots.filter((root) => existsSync(join(root, 'bundle')));
    await service.waitUntil('the old to go', () => listUnpackedRoots().length <= 4);
    expect(listUnpackedRoots()).toEqual(roots.slice(-listUnpackedRoots().length));
    const manifests = roots.map((root) => JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8')) as Json);
    const expected = { 'bundle/pack.py': { sha256: computeSha256(content), size: content.length } };
    expect(manifests).toEqual(roots.map(() => expect.objectContaining({ files: expect.objectContaining(expected) })));
    expect(store.countFetches(bundle)).toBe(1);
  });

  it('concurrent builder commands download their bundle once, and fail if the bundle is not valid', async () => {
    await worker.start();
    const bundle = store.addBundle(makeZip([{ name: 'pack.py', content: 'word = "built"' }]));
    const commands = Array.from({ length: 4 }, () =>
      buildCommand('builder', {
        code: 'import pack\nprint(pack.word)',
        phase: 'x',
        bundle: buildBundleReference(bundle),
      }),
    );
    for (const command of commands) expect(await service.pushCommand(command)).toBe(202);
    for (const { commandId } of commands) {
      const result = await service.waitUntil('a result', () => service.findResult(commandId));
      expect(result).toMatchObject({ status: 'success', output: 'built\n' });
    }
    expect(store.countFetches(bundle)).toBe(1);
    expect(worker.readAllOutput()).not.toContain(bundle.url);
    const wrong = buildCommand('builder', {
      code: 'pass',
      bundle: buildBundleReference(store.addBundle(Buffer.from('x'))),
    });
    await service.pushCommand(wrong);
    expect(await service.waitUntil('a result', () => service.findResult(wrong.commandId))).toMatchObject({
      status: 'failed',
      code: 'bundle_rejected',
    });
  });
});
