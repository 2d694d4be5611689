// This test is long because it starts a worker process for each rule, and waits in real time.
// A short test of the same code: apps/worker/src/publish/publish.spec.ts
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { FakeService } from '../testing/fake-service.harness';
import { WorkerHarness } from '../testing/worker-process.harness';
import { PackService } from './pack-service.harness';

const program = resolve(__dirname, '../../../../dist/apps/worker/src/main.js');

describe('muster-worker pack publish', () => {
  let service: PackService;
  let around: string;
  let folder: string;

  beforeEach(async () => {
    service = await PackService.start();
    around = mkdtempSync(join(tmpdir(), 'muster-publish-'));
    folder = join(around, 'pack');
    writeFiles({ 'main.py': 'import helper', 'lib/helper.py': 'word = "x"', 'data/é.csv': 'a,b\n' });
  });
  afterEach(async () => {
    await service.stop();
    rmSync(around, { recursive: true });
    expect(service.faults).toEqual([]);
  });

  function writeFiles(files: Record<string, string>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
  }

  async function runWorkerProgram(args: string[], env: Record<string, string> = getCredentials()) {
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH!, HOME: around, ...env },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (err += piece.toString()));
    const [code] = await once(child, 'close');
    return { code: code as number, out, err };
  }
  const getCredentials = () => ({ SERVICE_BASE_URL: service.url, SERVICE_API_KEY: service.key });
  const publishFolder = (...more: string[]) =>
    runWorkerProgram(['pack', 'publish', folder, '--pack', service.packId, ...more]);

  it('a bundle depends only on its files, not on the order and the time in which they were written', async () => {
    await publishFolder();
    const copy = join(around, 'copy');
    mkdirSync(join(copy, 'lib'), { recursive: true });
    cpSync(join(folder, 'lib'), join(copy, 'lib'), { recursive: true });
    cpSync(join(folder, 'main.py'), join(copy, 'main.py'));
    cpSync(join(folder, 'data'), join(copy, 'data'), { recursive: true });
    utimesSync(join(copy, 'main.py'), 1, 1);
    const readDryRunDigest = async (path: string) =>
      (JSON.parse((await runWorkerProgram(['pack', 'publish', path, '--pack', 'x', '--dry-run', '--json'])).out) as any)
        .digest as string;
    expect(await readDryRunDigest(copy)).toBe(await readDryRunDigest(folder));
    expect(await readDryRunDigest(copy)).toBe(
      `sha256:${createHash('sha256').update(service.published[0]!.zip).digest('hex')}`,
    );
    chmodSync(join(copy, 'main.py'), 0o755);
    expect(await readDryRunDigest(copy)).not.toBe(await readDryRunDigest(folder));
  });

  it('pack publish replaces only the draft that it published last, unless --base or --force is set', async () => {
    expect((await publishFolder()).code).toBe(0);
    const first = service.head;
    expect((await publishFolder()).code).toBe(0);
    expect(service.published[1]!.base).toBe(first);
    service.head = 'theirs';
    const { code, err } = await publishFolder();
    expect(code).toBe(3);
    expect(err).toContain('nothing was published: the current draft is theirs, and this upload was based on');
    expect(err).toContain('use --base theirs to replace it, or --force to replace any draft');
    expect(service.published).toHaveLength(2);
    expect((await publishFolder('--base', 'theirs')).code).toBe(0);
    service.head = 'theirs again';
    expect((await publishFolder('--force')).code).toBe(0);
    expect(service.published.map(({ base }) => base).slice(2)).toEqual(['theirs', 'theirs again']);
    expect((await publishFolder()).code).toBe(0);
    // The file with the last draft is not part of the pack.
    expect(new Set(service.published.map(({ zip }) => zip.toString('base64'))).size).toBe(1);
  });

  it('pack publish lists the errors of a bundle by path, and repeats a request only if that may help', async () => {
    const errors = [
      { path: 'lib/helper.py', reason: 'digest_mismatch' },
      { path: 'main.py', reason: 'missing_in_zip' },
    ];
    service.instead = [
      { step: 'upload', status: 503 },
      { step: 'put', status: 500 },
      { step: 'finalize', status: 422, body: { code: 'bundle_rejected', detail: 'The bundle is refused.', errors } },
    ];
    const { code, err } = await publishFolder();
    expect([code, service.instead]).toEqual([1, []]);
    expect(err).toContain(
      '(bundle_rejected): The bundle is refused.\n  lib/helper.py: digest_mismatch\n  main.py: missing_in_zip',
    );
    const refused = await runWorkerProgram(['pack', 'publish', folder, '--pack', service.packId], {
      ...getCredentials(),
      SERVICE_API_KEY: 'msk_wrong',
    });
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('401 (unauthenticated): The key is not known.'),
    ]);
    const gone = await PackService.start();
    await gone.stop();
    const away = await runWorkerProgram(['pack', 'publish', folder, '--pack', service.packId, '--service', gone.url]);
    expect([away.code, away.err]).toEqual([4, expect.stringContaining('ECONNREFUSED')]);
  });

  it('pack publish refuses links, missing folders and empty folders before it sends anything', async () => {
    symlinkSync('/etc/passwd', join(folder, 'lib', 'link'));
    expect(await publishFolder()).toMatchObject({
      code: 1,
      err: expect.stringContaining('lib/link is a link to /etc/passwd; replace it with the file'),
    });
    const readPublishError = async (path: string) =>
      (await runWorkerProgram(['pack', 'publish', path, '--pack', service.packId])).err;
    expect(await readPublishError(join(around, 'nothing'))).toContain('is not a folder');
    mkdirSync(join(around, 'empty'));
    expect(await readPublishError(join(around, 'empty'))).toContain('there are no files in');
    expect(service.published).toEqual([]);
  });

  it('pack publish uses the service and the key of this machine’s worker, and prefers a repair’s key', async () => {
    const fake = await FakeService.start();
    fake.apiKeys.push(service.key);
    const worker = new WorkerHarness(fake);
    try {
      const bare = ['pack', 'publish', folder, '--pack', service.packId, '--worker-dir', worker.folder];
      expect(await runWorkerProgram(bare, {})).toMatchObject({
        code: 2,
        err: expect.stringMatching(/the service is missing.*the key is missing/),
      });
      await worker.start();
      // The worker uses another service, so its key is not valid here.
      expect(await runWorkerProgram([...bare, '--service', service.url], {})).toMatchObject({
        code: 1,
        err: expect.stringContaining('401'),
      });
      writeFileSync(join(worker.folder, 'service-key'), service.key);
      expect((await runWorkerProgram([...bare, '--service', service.url], {})).code).toBe(0);
      expect((await runWorkerProgram(bare, {})).err).toContain('404');
    } finally {
      await worker.remove();
      await fake.stop();
    }
  });
});
