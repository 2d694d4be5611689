// This test is long because it builds composites on a real worker.
// A short test of the same code: apps/standalone/src/imaging-composite.spec.ts
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findFreePort, HttpClient, waitFor } from '@muster/testing';
import sharp from 'sharp';
import { Start } from './npm-start';

jest.setTimeout(300_000);

/** Invented name of a patient. It is unusual, so that the test can search all files for it. */
const unknownName = 'Zyxwvut, Quillandra';

describe('a composite that a real local worker builds', () => {
  let folder: string;
  let practice: string;
  let start: Start;
  let admin: HttpClient;
  let agentId: string;

  const writeImage = async (name: string, bytes: Buffer) => {
    const path = join(practice, 'images', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  };
  const requestComposite = async (patientLookup: string, teeth: number[]) => {
    const started = await admin.post(`/api/agents/${agentId}/imaging-composite`, { patientLookup, teeth });
    expect([started.status, started.text]).toEqual([202, expect.any(String)]);
    const path = `/api/agents/${agentId}/imaging-composite/status?commandId=${started.body.commandId}`;
    const body = await waitFor(
      'the end of the command',
      async () => {
        const answer = await admin.get(path);
        return answer.body.status !== 'pending' && answer.body;
      },
      60_000,
    );
    return { ...body, commandId: started.body.commandId as string };
  };
  const createComposite = async (patientLookup: string, teeth: number[]) => {
    const { status, output, error, compositeUrl, commandId } = await requestComposite(patientLookup, teeth);
    expect([status, error]).toEqual(['success', undefined]);
    const [, json] = /__IMAGING_COMP_START__([^]*?)__IMAGING_COMP_END__/.exec(output)!;
    const answer = await fetch(compositeUrl);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    const { data, info } = await sharp(Buffer.from(await answer.arrayBuffer()))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const readPixel = (x: number, y: number) => [
      ...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3),
    ];
    const getCellPosition = (index: number) => ({ left: (index % 6) * 320, top: Math.floor(index / 6) * 240 });
    return {
      report: JSON.parse(json!),
      commandId,
      compositeUrl: compositeUrl as string,
      size: [info.width, info.height],
      middles: teeth.map((_, index) => readPixel(getCellPosition(index).left + 160, getCellPosition(index).top + 100)),
      /** The lower left corner of each cell, where the tooth's number and the date of its image are printed. */
      labels: teeth.map((_, index) => {
        const { left, top } = getCellPosition(index);
        const rows = Array.from({ length: 32 }, (_, y) =>
          Array.from({ length: 180 }, (_, x) => readPixel(left + x, top + 208 + y)[0]!),
        );
        return rows.flat();
      }),
    };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-composite-'));
    practice = join(folder, 'practice');
    await chmod(folder, 0o755);
    await mkdir(practice);
    await makePractice();
    const port = await findFreePort();
    const args = ['--port', String(port), '--data-dir', join(folder, '.muster/data'), '--no-demo'];
    start = new Start(args, {
      IMAGING_ROOT: join(practice, 'images'),
      PRACTICE_DATABASE: `sqlite:///${join(practice, 'database/practice.db')}`,
    });
    await start.waitUntilReady();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(start.output)!;
    admin = await new HttpClient(`http://127.0.0.1:${port}`).signIn(email!, password!);
    agentId = (await admin.post('/api/agents', { name: randomUUID(), provider: 'local' })).body.agent.id;
    await waitFor(
      'the agent to be online',
      async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  });
  afterAll(async () => {
    await start?.endStart('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });

  it('a composite image shows the newest readable image of each requested tooth, in the requested order', async () => {
    const teeth = [31, 3, 30, 14, 19, 8, 1, 2];
    const { report, commandId, size, middles, labels } = await createComposite('1234', teeth);
    const { organization } = (await admin.get('/api/auth/me')).body;
    expect(report).toEqual({
      composite_key: `imaging/comp/${organization.id}/${commandId}.png`,
      patient: { patimageid: 1234, chart: 'C-77', name: 'Smith, Ann' },
      teeth_found: [31, 3, 14, 2],
      teeth_missing: [30, 19, 8, 1],
      lines_skipped: 4,
    });
    expect(size).toEqual([6 * 320, 2 * 240]);
    const buildGreyPixel = (level: number) => [level, level, level];
    const none = buildGreyPixel(128);
    expect(middles).toEqual([
      buildGreyPixel(150),
      buildGreyPixel(90),
      none,
      buildGreyPixel(120),
      none,
      none,
      none,
      buildGreyPixel(60),
    ]);
    expect(new Set(labels.map(String)).size).toBe(teeth.length);
    for (const label of labels) {
      expect(label.filter((level) => level > 230).length).toBeGreaterThan(50);
      expect(label.filter((level) => level < 20).length).toBeGreaterThan(500);
    }
    // The composite is the agent's only artifact.
    const { artifacts } = (await admin.get(`/api/artifacts?agentId=${agentId}`)).body;
    expect(artifacts).toEqual([
      expect.objectContaining({ agentId, kind: 'image', filename: `${commandId}.png`, contentType: 'image/png' }),
    ]);
  });

  it.each([
    ['Smith, Ann (PATIMAGEID: 1235)', 1235, [30]],
    ['#1235', 1235, [30]],
    ['c-78', 1235, [30]],
    ['munoz,  <B>JOSE</B>', 77, []],
    ['<b>José</b> Muñoz', 77, []],
    ['Nell Without', 88, []],
  ])('a request for a composite image finds the patient by %s', async (lookup, patimageid, found) => {
    const { report, size, middles } = await createComposite(lookup, [30, 3]);
    expect([report.patient.patimageid, report.teeth_found]).toEqual([patimageid, found]);
    expect(size).toEqual([640, 240]);
    expect(middles).toEqual([found.length ? [200, 200, 200] : [128, 128, 128], [128, 128, 128]]);
  });

  it('a composite image fails if the patient is unknown or ambiguous, and its error contains no patient name', async () => {
    const { commandId: _, ...several } = await requestComposite('Ann Smith', [3]);
    const error = '2 patients answer to this lookup';
    expect(several).toEqual({ status: 'failed', code: 'patient_ambiguous', error });
    const { commandId, ...none } = await requestComposite(unknownName, [3]);
    expect(none).toEqual({ status: 'failed', code: 'patient_not_found', error: 'no patient answers to this lookup' });
    const timeline = await admin.get(`/api/agents/${agentId}/logs?limit=200`);
    expect(timeline.text).toContain(commandId);
    const answers = [timeline, await admin.get('/api/audit?limit=200'), await admin.get(`/api/agents/${agentId}`)];
    for (const { text } of answers) expect(text).not.toMatch(/Zyxwvut|Smith|C-77|Muñoz/);
    // Neither the data folder (database, worker) nor the output contains the requested name.
    await waitFor('the name to be in no file', async () => !(await findFilesContaining(folder, 'Zyxwvut')).length);
    expect(start.output).not.toContain('Zyxwvut');
  });

  it('a composite image is not accessible to another organization', async () => {
    const own = await createComposite('1234', [3]);
    const [, email, password] = /super admin +(\S+@\S+) +(\S+)/.exec(start.output)!;
    const root = await new HttpClient(admin.url).signIn(email!, password!);
    const account = { adminEmail: 'other@example.com', adminPassword: randomUUID() };
    expect((await root.post('/api/admin/organizations', { name: 'Other', ...account })).status).toBe(201);
    const other = await new HttpClient(admin.url).signIn(account.adminEmail, account.adminPassword);
    const path = `/api/agents/${agentId}/imaging-composite`;
    expect((await other.get(`${path}/status?commandId=${own.commandId}`)).status).toBe(404);
    expect((await other.post(path, { patientLookup: '1234', teeth: [3] })).status).toBe(404);
    const elsewhere = new URL(own.compositeUrl);
    elsewhere.pathname = elsewhere.pathname.replace(own.commandId, randomUUID());
    expect((await fetch(elsewhere)).status).toBe(403);
  });

  it('a request for a composite image fails with the reason if the imaging data file is missing or is a link', async () => {
    const list = join(practice, 'images/images.dat');
    const content = await readFile(list);
    await rm(list);
    const { commandId: _, ...missing } = await requestComposite('1234', [3]);
    const error = 'the imaging data file is not there';
    expect(missing).toEqual({ status: 'failed', code: 'data_file_unavailable', error });
    await symlink(join(practice, 'database/practice.db'), list);
    expect((await requestComposite('1234', [3])).code).toBe('path_not_allowed');
    await rm(list);
    await writeFile(list, content);
  });

  async function makePractice(): Promise<void> {
    const rows = [
      [1234, 'C-77', 'Ann', 'Smith'],
      [1235, 'C-78', 'Ann', 'Smith'],
      [77, 'C-1', '<b>José</b>', 'Muñoz'],
      [88, 'N-1', 'Nell', 'Without'],
    ];
    await mkdir(join(practice, 'database'));
    const result = spawnSync('python3', [
      '-c',
      makeDatabase,
      join(practice, 'database/practice.db'),
      JSON.stringify(rows),
    ]);
    expect([result.status, result.stderr.toString()]).toEqual([0, '']);

    const buildExportLine = (id: number, ordinal: number, filename: string, taken: string, teeth: string) =>
      `${id}|${ordinal}|${filename}|${taken}|five|six|seven|eight|nine|${teeth}|more`;
    const utf8 = [
      '\uFEFF',
      buildExportLine(1234, 1, 'old.dex', '20240101|', '16'),
      buildExportLine(1234, 2, 'new.dex', '20250101|101112', '15-17'),
      buildExportLine(1234, 3, 'damaged.dex', '20250201|101112', '16'),
      buildExportLine(1234, 4, '../images/new.dex', '20250301|', '16'),
      buildExportLine(1234, 5, '\\\\server\\share\\new.dex', '20250401|', '16,36'),
      buildExportLine(1234, 6, 'hidden.dex', '20250401|', '36'),
      buildExportLine(1234, 7, 'in-root.dex', '20250401|', '26'),
      buildExportLine(1234, 8, 'newer.dex', '20250101|101113', '17'),
      buildExportLine(1235, 1, 'theirs.dex', '20251231|', '46'),
      buildExportLine(1234, 9, 'theirs.dex', '20251231|', '46'),
      // A primary tooth must not count as the permanent tooth with the same universal number.
      buildExportLine(1234, 10, 'new.dex', '20250101|', '51-55;65'),
      buildExportLine(1234, 11, 'new.dex', '20259901|', '11'),
      '1234|12|short.dex',
      '',
      'x'.repeat(70_000),
    ];
    await writeImage(
      'images.dat',
      Buffer.concat([
        Buffer.from(utf8.join('\r\n').replace('\r\n', '') + '\r\n'),
        // This line is encoded in Windows-1252, which is not valid UTF-8.
        Buffer.from(`${buildExportLine(1234, 13, 'Z\xe4hne.dex', '20250101|', '47')}\r\n`, 'latin1'),
      ]),
    );
    await writeImage('1234/old.dex', buildGreyTiff(400, 300, 40));
    await writeImage(
      '1234/new.dex',
      Buffer.concat([Buffer.from('a header of the maker'), buildGreyTiff(1000, 750, 90)]),
    );
    await writeImage('1234/newer.dex', buildGreyTiff(64, 48, 60));
    await writeImage('1234/damaged.dex', buildGreyTiff(400, 300, 50).subarray(0, 300));
    await writeImage('1234/Zähne.dex', buildGreyTiff(400, 300, 150));
    await writeImage('in-root.dex', buildGreyTiff(400, 300, 120));
    await writeImage('1235/theirs.dex', buildGreyTiff(400, 300, 200));
    await writeFile(join(practice, 'database/secret.dex'), buildGreyTiff(400, 300, 250));
    await symlink(join(practice, 'database/secret.dex'), join(practice, 'images/1234/hidden.dex'));
  }
});

const makeDatabase = `
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode=wal")
connection.execute("CREATE TABLE patient (patimageid INTEGER, chart TEXT, first_name TEXT, last_name TEXT)")
connection.executemany("INSERT INTO patient VALUES (?, ?, ?, ?)", json.loads(sys.argv[2]))
connection.commit()
connection.close()
`;

/** An uncompressed TIFF of one grey level. */
function buildGreyTiff(width: number, height: number, level: number): Buffer {
  const pixels = width * height;
  const tags = [
    [256, 4, width],
    [257, 4, height],
    [258, 3, 8],
    [259, 3, 1],
    [262, 3, 1],
    [273, 4, 8 + 2 + 9 * 12 + 4],
    [277, 3, 1],
    [278, 4, height],
    [279, 4, pixels],
  ];
  const head = Buffer.alloc(8 + 2 + tags.length * 12 + 4);
  head.write('II*\0', 'latin1');
  head.writeUInt32LE(8, 4);
  head.writeUInt16LE(tags.length, 8);
  tags.forEach(([tag, kind, value], at) => {
    head.writeUInt16LE(tag!, 10 + at * 12);
    head.writeUInt16LE(kind!, 12 + at * 12);
    head.writeUInt32LE(1, 14 + at * 12);
    head.writeUInt32LE(value!, 18 + at * 12);
  });
  return Buffer.concat([head, Buffer.alloc(pixels, level)]);
}

async function findFilesContaining(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    if (content.includes(text)) found.push(path);
  }
  return found;
}
