import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { unzipToFolder } from '../zip/unzip';
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

  it('pack publish sends the files of a folder with their inventory, without caches and folder metadata', async () => {
    writeFiles({ '__pycache__/x.pyc': 'x', 'lib/__pycache__/y.pyc': 'y', '.git/HEAD': 'z' });
    const { code, out } = await publishFolder();
    expect([code, out]).toEqual([0, expect.stringContaining(`published as the draft ${service.head!}`)]);
    const { zip, files, base } = service.published[0]!;
    const target = join(around, 'unpacked');
    mkdirSync(target);
    const unpacked = await unzipToFolder(zip, target, { bytes: 10_000, entries: 10, ratio: 100 });
    const compareByPath = (a: { path?: string }, b: { path?: string }) => (a.path! < b.path! ? -1 : 1);
    expect(files.sort(compareByPath)).toEqual(unpacked.sort(compareByPath));
    expect(files.map(({ path }) => path as string)).toEqual(['data/é.csv', 'lib/helper.py', 'main.py']);
    expect(base).toBeNull();
    expect(out).toContain(createHash('sha256').update(zip).digest('hex'));
    expect(execFileSync('python3', ['-m', 'zipfile', '-t', writeZip(zip)]).toString()).toContain('Done testing');
  });

  function writeZip(zip: Buffer): string {
    const path = join(around, 'made.zip');
    writeFileSync(path, zip);
    return path;
  }

  it('muster-worker prints its help, and exits with 2 after wrong arguments', async () => {
    const help = await runWorkerProgram(['pack', '--help'], {});
    expect([help.code, help.out]).toEqual([
      0,
      expect.stringContaining('muster-worker pack publish <folder> --pack <id>'),
    ]);
    expect((await runWorkerProgram(['--help'], {})).out).toContain(help.out);
    for (const args of [
      ['pack'],
      ['pack', 'publish'],
      ['pack', 'publish', folder],
      ['pack', 'publish', folder, '--pck', 'x'],
      ['pak'],
    ]) {
      expect([args, (await runWorkerProgram(args)).code]).toEqual([args, 2]);
    }
  });
});
