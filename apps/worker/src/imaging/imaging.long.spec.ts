// This test is long because it converts images in every format that Pillow reads.
// A short test of the same code: apps/worker/src/imaging/python-tests.spec.ts
import { readTestStack } from '@muster/testing';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, WorkerHarness } from '../testing/worker-process.harness';

const { pillow } = readTestStack();
const describeWhere = pillow ? describe : describe.skip;
const secret = 'odbc:Driver=Practice;PWD=hunter2222';

describeWhere('imaging_images (requires Pillow)', () => {
  let service: FakeService;
  let worker: WorkerHarness;
  let root: string;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'muster-images-'));
    service = await FakeService.start();
    worker = new WorkerHarness(service, { IMAGING_ROOT: root, PRACTICE_DATABASE: secret, ...pillow });
  });
  afterEach(async () => {
    await worker.remove();
    await service.stop();
    rmSync(root, { recursive: true, force: true });
    expect(service.faults).toEqual([]);
  });

  /** Writes an 8-bit grey TIFF after a header of `behind` bytes. */
  const writeDicomImage = (
    name: string,
    { width = 40, height = 30, behind = 0, value = (x: number, y: number) => x + y, tail = '' } = {},
  ) => {
    const pixels = Buffer.from(
      Array.from({ length: width * height }, (_, at) => value(at % width, Math.floor(at / width))),
    );
    const entries = [
      ...[
        [256, 4, 1, width],
        [257, 4, 1, height],
        [258, 3, 1, 8],
        [259, 3, 1, 1],
        [262, 3, 1, 1],
      ],
      ...[
        [273, 4, 1, 8 + 2 + 9 * 12 + 4],
        [277, 3, 1, 1],
        [278, 4, 1, height],
        [279, 4, 1, pixels.length],
      ],
    ];
    const head = Buffer.alloc(8 + 2 + entries.length * 12 + 4);
    head.write('II*\0', 'latin1');
    head.writeUInt32LE(8, 4);
    head.writeUInt16LE(entries.length, 8);
    for (const [at, [tag, kind, count, number]] of entries.entries()) {
      const position = 10 + at * 12;
      head.writeUInt16LE(tag!, position);
      head.writeUInt16LE(kind!, position + 2);
      head.writeUInt32LE(count!, position + 4);
      head.writeUInt32LE(number!, position + 8);
    }
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, name), Buffer.concat([Buffer.alloc(behind, 'DEX '), head, pixels, Buffer.from(tail)]));
  };
  const buildImageList = (names: string[]) => names.map((filename, at) => ({ ordinal: at + 1, filename }));
  const buildImagingCommand = (names: string[], more: object = {}) =>
    buildCommand('imaging_images', {
      imagingPath: root,
      patimageid: 771400917,
      images: buildImageList(names),
      ...more,
    });
  const pushAndWaitForResult = async (command: { commandId: string }): Promise<Json> => {
    expect(await service.pushCommand(command)).toBe(202);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };
  const listProgressReports = () => service.listAccepted(/\/progress$/).map(({ body }) => body as Json);

  it('a worker without Pillow has no imaging capability, so imaging commands fail with the name of the package', async () => {
    await worker.start();
    const readCapabilities = () =>
      Object.fromEntries(service.waitForHandshake()!.body.machineCapabilities.map((each: Json) => [each.name, each]));
    expect(service.waitForHandshake()!.body.capabilities).toContain('imaging');
    expect(readCapabilities()).toMatchObject({
      python: { available: true, detail: expect.stringMatching(/^3\.\d/) },
      pillow: { available: true, detail: expect.stringMatching(/^\d/) },
    });
    await worker.kill();
    await worker.start({ IMAGING_PYTHONPATH: '', IMAGING_LIBRARY_PATH: '', PYTHON: writeBarePython(worker.folder) });
    expect(service.waitForHandshake()!.body.capabilities).not.toContain('imaging');
    expect(readCapabilities()).toMatchObject({ python: { available: true }, pillow: { available: false } });
    const result = await pushAndWaitForResult(buildImagingCommand(['a.dex']));
    expect(result).toMatchObject({ status: 'failed', code: 'imaging_unavailable' });
    expect(result.error).toContain('apt-get install python3-pil');
  });

  it('only the pixels of an image file are sent, even if the file is also an HTML page and a zip archive', async () => {
    const page = '<script>alert(document.domain)</script>';
    const zip = 'PK\x03\x04\x14\0';
    writeDicomImage('both.dex', { behind: 16, tail: `${page}${zip}` });
    writeFileSync(join(root, 'page.dex'), `\xff\xd8\xff\xe0${page}${zip}`, 'latin1');
    await worker.start();
    const result = await pushAndWaitForResult(buildImagingCommand(['both.dex', 'page.dex']));
    expect(result.output.images).toMatchObject([{ ordinal: 1, width: 40 }, { code: 'not_a_tiff' }]);
    expect([...service.uploads.keys()].sort()).toEqual(['1-full', '1-thumbnail']);
    for (const sent of service.uploads.values()) {
      expect((await sharp(sent).metadata()).format).toBe('jpeg');
      expect([sent.includes('<script'), sent.includes('PK\x03\x04'), sent.at(-1)]).toEqual([false, false, 0xd9]);
    }
  });

  it('a JPEG and a thumbnail of each image are sent even if another image fails', async () => {
    writeDicomImage('a.dex', { width: 600, height: 300, behind: 700, value: (x) => Math.floor((x * 255) / 599) });
    writeDicomImage('b.tif');
    writeFileSync(join(root, 'text.dex'), 'no image');
    await worker.start();
    const result = await pushAndWaitForResult(buildImagingCommand(['a.dex', 'none.dex', 'b.tif', 'text.dex']));
    expect(result).toEqual({
      status: 'success',
      output: {
        images: [
          { ordinal: 1, width: 600, height: 300, bytes: service.uploads.get('1-full')!.length },
          { ordinal: 2, code: 'not_found', error: 'there is no such file' },
          { ordinal: 3, width: 40, height: 30, bytes: service.uploads.get('3-full')!.length },
          { ordinal: 4, code: 'not_a_tiff', error: 'there is no TIFF in the file' },
        ],
      },
    });
    expect([...service.uploads.keys()].sort()).toEqual(['1-full', '1-thumbnail', '3-full', '3-thumbnail']);
    const full = sharp(service.uploads.get('1-full'));
    expect(await full.metadata()).toMatchObject({ width: 600, height: 300, channels: 1, format: 'jpeg' });
    const values = await full.extractChannel(0).raw().toBuffer();
    values.forEach((value, at) => expect(Math.abs(value - ((at % 600) * 255) / 599)).toBeLessThan(4));
    const small = await sharp(service.uploads.get('1-thumbnail')).metadata();
    expect(small).toMatchObject({ width: 256, height: 128, channels: 1, format: 'jpeg' });
    expect([small.exif, small.icc, small.xmp]).toEqual([undefined, undefined, undefined]);
    expect((await sharp(service.uploads.get('3-thumbnail')).metadata()).width).toBe(40);
    expect(listProgressReports().at(-1)).toEqual({ done: 4, failed: 2, total: 4 });
    expect(readdirSync(join(worker.folder, 'imaging'))).toEqual([]);
    expect(readdirSync(join(worker.folder, 'commands'))).toEqual([]);
  });

  it('an imaging command fails if no image can be read or if its folder is not allowed', async () => {
    await worker.start();
    const none = await pushAndWaitForResult(buildImagingCommand(['x.dex', 'y.dex']));
    expect(none).toMatchObject({ status: 'failed', code: 'no_image_converted' });
    expect(none.output.images).toHaveLength(2);
    const outside = await pushAndWaitForResult(buildImagingCommand(['passwd'], { imagingPath: '/etc' }));
    expect(outside).toMatchObject({ status: 'failed', code: 'path_not_allowed' });
    expect(outside.output.images).toMatchObject([{ ordinal: 1, code: 'path_not_allowed' }]);
    expect(service.uploads.size).toBe(0);
  });

  it('the upload of an image that the store or the service refuses is repeated with a new URL each time', async () => {
    for (const name of ['a', 'b', 'c']) writeDicomImage(name);
    const tries = new Map<string, number>();
    service.refuse = (key) => {
      const count = (tries.get(key) ?? 0) + 1;
      tries.set(key, count);
      if (key === '2-full' && count === 1) return 'hang up';
      if (key === '3-full' && count <= 2) return 403;
      return count === 1 ? 503 : 200;
    };
    service.interfere = ({ path, count }) => (path.endsWith('/uploads') && count === 1 ? { status: 503 } : undefined);
    await worker.start();
    const result = await pushAndWaitForResult(buildImagingCommand(['a', 'b', 'c']));
    expect(result.output.images.map(({ width }: Json) => width)).toEqual([40, 40, 40]);
    expect(service.uploads.size).toBe(6);
    expect(tries.get('3-full')).toBe(3);
  });

  it('an image that the store always refuses is reported without delaying the other images', async () => {
    for (const name of ['a', 'b']) writeDicomImage(name);
    service.refuse = (key) => (key === '1-thumbnail' ? 403 : 200);
    await worker.start();
    const result = await pushAndWaitForResult(buildImagingCommand(['a', 'b']));
    expect(result.output.images).toMatchObject([
      { ordinal: 1, code: 'upload_failed' },
      { ordinal: 2, width: 40 },
    ]);
  }, 90_000);

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'an imaging command is continued by the next worker after a %s without sending a file twice',
    async (signal) => {
      const names = Array.from({ length: 60 }, (_, at) => `${at + 1}.dex`);
      for (const name of names) writeDicomImage(name);
      const sent: string[] = [];
      let isOpen = 50;
      service.refuse = (key) => {
        if (sent.length >= isOpen) return 503;
        sent.push(key);
        return 200;
      };
      await worker.start();
      const command = buildImagingCommand(names);
      expect(await service.pushCommand(command)).toBe(202);
      // The store has accepted the first fifty files and accepts no more.
      await service.waitUntil('the first progress', () => listProgressReports().find(({ done }) => done === 25));
      await worker.kill(signal);
      expect(service.findResult(command.commandId)).toBeUndefined();
      await worker.start();
      isOpen = Infinity;
      const result = await service.waitUntil('the result', () => service.findResult(command.commandId));
      expect(result.output.images.map(({ width }: Json) => width)).toEqual(names.map(() => 40));
      expect(sent).toHaveLength(120);
      expect(new Set(sent).size).toBe(120);
      expect(existsSync(join(worker.folder, 'imaging', command.commandId))).toBe(false);
    },
    90_000,
  );

  it('an imaging command ends at its deadline and leaves no files', async () => {
    writeDicomImage('a.dex');
    service.refuse = () => 503;
    await worker.start();
    const command = { ...buildImagingCommand(['a.dex']), deadline: new Date(Date.now() + 4000).toISOString() };
    expect(await pushAndWaitForResult(command)).toMatchObject({ status: 'failed', code: 'execution_timeout' });
    expect(readdirSync(join(worker.folder, 'imaging'))).toEqual([]);
  });

  it('the reports and logs of an imaging command contain no patient numbers, file names or passwords', async () => {
    writeDicomImage('Doe, Jane.dex');
    writeFileSync(join(root, 'Roe, Richard.dex'), 'no image');
    await worker.start();
    const result = await pushAndWaitForResult(buildImagingCommand(['Doe, Jane.dex', 'Roe, Richard.dex', 'Poe.dex']));
    expect(JSON.stringify(result)).not.toMatch(/Doe|Roe|Poe|771400917/);
    expect(worker.stderr).not.toMatch(/Doe|Roe|Poe|771400917|hunter/);
    expect(JSON.stringify(listProgressReports())).not.toMatch(/Doe|Roe|Poe|771400917/);
    expect(worker.readAllOutput()).not.toMatch(/Doe|Roe|Poe|hunter/);
  });

  it('the settings of imaging commands are not passed to other commands', async () => {
    await worker.start();
    const code = 'import os\nprint(sorted(name for name in os.environ if "IMAGING" in name or "PRACTICE" in name))';
    expect((await pushAndWaitForResult(buildCommand('snippet', { code }))).output).toBe('[]\n');
  });

  it('imaging commands work in the one-file worker', async () => {
    const file = join(worker.folder, 'muster-worker.js');
    const built = spawnSync(process.execPath, [join(__dirname, '../../one-file.mjs'), file], { encoding: 'utf8' });
    expect([built.status, built.stderr]).toEqual([0, '']);
    writeDicomImage('a.dex');
    const one = new WorkerHarness(service, { IMAGING_ROOT: root, ...pillow }, file);
    try {
      await one.start();
      expect((await pushAndWaitForResult(buildImagingCommand(['a.dex']))).output.images).toMatchObject([{ width: 40 }]);
    } finally {
      await one.remove();
    }
  });
});

/** Creates a Python that does not find Pillow, even if this machine has it. */
function writeBarePython(folder: string): string {
  const path = join(folder, 'bare-python');
  writeFileSync(path, '#!/bin/sh\nexec python3 -S "$@"\n', { mode: 0o755 });
  return path;
}
