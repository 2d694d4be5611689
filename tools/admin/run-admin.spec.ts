import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Manifest, manifestFormatVersion, paths, readManifest, writeManifest } from './backup/manifest';
import { FolderPlace } from './place/folder-place';
import { runAdmin, type Streams } from './run-admin';

const id = '2026-03-01T03-00-00Z';

describe('muster-admin', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-admin-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const runCommand = async (...args: string[]) => {
    const printed = { stdout: '', stderr: '' };
    const createStream = (name: keyof typeof printed) =>
      ({ isTTY: false, write: (text: string) => Boolean((printed[name] += text)) }) as unknown as NodeJS.WriteStream;
    const streams: Streams = { stdout: createStream('stdout'), stderr: createStream('stderr') };
    return { code: await runAdmin(args, {}, streams), ...printed };
  };
  const buildManifest = (changed: Partial<Manifest> = {}) =>
    ({
      formatVersion: manifestFormatVersion,
      id,
      version: '0.1.0',
      takenAt: '2026-03-01T03:00:07.000Z',
      ...changed,
    }) as Manifest;

  it.each([
    [['prune', '--keep', 'daily=many'], '"daily=many" is not a valid --keep rule'],
    [['prune', '--keep', 'daily=1,sometimes=2'], '"sometimes=2" is not a valid --keep rule'],
    [['prune'], '--keep is missing'],
    [['prune', '--keep', 'daily=1', '--yes'], "Unknown option '--yes'"],
    [['doctor', '--min-free', '10'], '--min-free must be a percentage'],
    [['doctor', '--min-free', '101%'], '--min-free must be a percentage'],
    [['restore', '--jobs', '0'], '--jobs must be a number'],
  ])('muster-admin %j exits with 2 and prints what is wrong', async (args, sentence) => {
    const from = args[0] === 'doctor' ? [] : ['--from', folder];
    expect(await runCommand(...args, ...from)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });

  it('muster-admin exits with 2 if a command is unknown or the location of the backups is missing', async () => {
    expect((await runCommand('bakcup')).code).toBe(2);
    expect(await runCommand('list')).toMatchObject({ code: 2, stderr: expect.stringContaining('--from is missing') });
  });

  it('muster-admin list --json prints each backup with its time and whether it is complete', async () => {
    const place = new FolderPlace(folder);
    expect(JSON.parse((await runCommand('list', '--json', '--from', folder)).stdout)).toEqual({ backups: [] });
    await writeManifest(place, buildManifest());
    const interrupted = '2026-03-02T03-00-00Z';
    await place.write(paths.settings(interrupted), Readable.from([Buffer.from('x')]));
    const { code, stdout } = await runCommand('list', '--json', '--from', folder);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        backups: [
          { id, createdAt: '2026-03-01T03:00:07.000Z', complete: true },
          { id: interrupted, createdAt: '2026-03-02T03:00:00.000Z', complete: false },
        ],
      },
    ]);
  });

  it('a backup of a newer format is refused before its hash is compared', async () => {
    const place = new FolderPlace(folder);
    await writeManifest(place, buildManifest({ formatVersion: manifestFormatVersion + 1, version: '9.0.0' }));
    const path = join(folder, paths.manifest(id));
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(/"sha256": "\w+"/, '"sha256": "of another kind"'));
    await expect(readManifest(place, id)).rejects.toThrow('was made by Muster 9.0.0');
    await writeFile(path, text.replace('9.0.0', '9.0.1').replace(/"formatVersion": \d+/, '"formatVersion": 1'));
    await expect(readManifest(place, id)).rejects.toThrow('is damaged');
  });
});
