import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { Client } from 'pg';
import { type ClonedDatabase, cloneDatabase, buildTestEnvironment } from '@muster/testing';
import { runAdmin } from '../run-admin';
import { maskText, maskLogLine } from './mask';

const organizationId = '00000000-0000-4000-8000-000000000001';

describe('the support bundle', () => {
  let database: ClonedDatabase;
  let folder: string;

  beforeAll(async () => {
    database = await cloneDatabase();
    folder = await mkdtemp(join(tmpdir(), 'muster-support-'));
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const runCommand = async (...args: string[]) => {
    const output = { out: '', err: '' };
    const createStream = (name: 'out' | 'err') =>
      ({ write: (text: string) => (output[name] += text), isTTY: false }) as unknown as NodeJS.WriteStream;
    const streams = { stdout: createStream('out'), stderr: createStream('err') };
    return { code: await runAdmin(args, buildTestEnvironment(database.url), streams), ...output };
  };

  it('the support bundle contains the messages of doctor, counts and masked logs, but nothing that a person entered', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`
      INSERT INTO organization (id, name) VALUES ('${organizationId}', 'Millerdental');
      INSERT INTO agent (id, organization_id, name, provider, status)
        VALUES (gen_random_uuid(), '${organizationId}', 'Millers desk', 'external', 'online');
      INSERT INTO outbox (id, queue, name, payload, next_publish_at, last_error)
        VALUES (gen_random_uuid(), 'metering', 'job-finished', '{"patient": "Miller"}', NULL, 'no Miller there');
      INSERT INTO loop_run (name, app, host, interval_ms, began_at, duration_ms, error)
        VALUES ('sweep outbox', 'scheduler', 'a', 1000, now(), 1, 'duplicate key, (name)=(Miller) is there');
    `);
    await client.end();
    const log = join(folder, 'service.log');
    await writeFile(
      log,
      [
        JSON.stringify({
          level: 'warn',
          time: '2026-11-24T04:01:13.540Z',
          app: 'scheduler',
          context: 'sweep outbox',
          msg: 'the round failed: no Ann Miller in Postgres',
          patient: 'Miller',
        }),
        JSON.stringify({
          level: 'error',
          app: 'ingest',
          msg: 'refused',
          err: {
            type: 'TypeError',
            message: 'Miller',
            code: 'E1',
            stack: 'TypeError: Miller\n    at parse (/srv/muster/main.js:1:2)',
          },
        }),
        'Traceback of Miller',
      ].join('\n'),
    );
    const to = join(folder, 'bundle.zip');
    const made = await runCommand('support-bundle', '--to', to, '--log', log);
    expect([made.code, made.err]).toEqual([0, '']);
    expect((await stat(to)).mode & 0o777).toBe(0o600);

    const files = readZipFiles(readFileSync(to));
    expect([...files.keys()].sort()).toEqual([
      ...['connections.json', 'deliveries.json', 'doctor.txt', 'indexes.json', 'logs/1.ndjson', 'loops.json'],
      ...['machines.json', 'migrations.json', 'postgres.json', 'queues.json', 'runs.json', 'settings.txt'],
      ...['tables.json', 'version.txt'],
    ]);
    const all = [...files].map(([name, text]) => `${name}\n${text}`).join('\n');
    expect(all).not.toMatch(/Miller|Ann\b/);
    for (const [name, value] of Object.entries(buildTestEnvironment(database.url))) {
      if (/KEY|URL|SECRET|PASSWORD/.test(name) && value) expect([name, all.includes(value)]).toEqual([name, false]);
    }
    expect(all).not.toContain('"failed"');
    expect(files.get('doctor.txt')).toContain('warning: 1 dead letters are in the queue metering');
    expect(files.get('machines.json')).toContain(`"organization_id":"${organizationId}"`);
    expect(files.get('tables.json')).toContain('"name":"outbox"');
    expect(files.get('logs/1.ndjson')!.split('\n')).toEqual([
      '{"level":"warn","time":"2026-11-24T04:01:13.540Z","app":"scheduler","context":"sweep outbox","msg":"the round failed: no <name> <name> in Postgres"}',
      '{"level":"error","app":"ingest","msg":"refused","err":{"type":"TypeError","code":"E1","stack":["    at parse (/srv/muster/main.js:1:2)"]}}',
      '{"msg":"1 lines that are not JSON were skipped"}',
      '',
    ]);
  });

  it('the support bundle does not overwrite a file, and requires --to and existing logs', async () => {
    const there = join(folder, 'there.zip');
    await writeFile(there, 'mine');
    expect(await runCommand('support-bundle', '--to', there)).toMatchObject({
      code: 1,
      err: expect.stringContaining('already exists'),
    });
    expect(readFileSync(there, 'utf8')).toBe('mine');
    expect((await runCommand('support-bundle')).err).toContain('--to FILE.zip');
    const gone = join(folder, 'none.zip');
    expect((await runCommand('support-bundle', '--to', gone, '--log', join(folder, 'nothing.log'))).code).toBe(1);
    expect(existsSync(gone)).toBe(false);
  });

  it.each([
    ['no agent “Front desk” for ann@example.com', 'no agent <quoted> for <e-mail>'],
    [`run ${organizationId} of 1980-02-29 failed`, `run ${organizationId} of <number> failed`],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED <number>:5432'],
    ['key msk_abcdefgh_0123456789abcdef', 'key <credential>'],
    ['POST https://portal.example/claims?patient=7 took long', 'POST https://<address> took long'],
    ['Not found: MILLER, Änne O’Neil', 'Not found: <name>, <name> <name>'],
    ["a policy of Delta's said 'Ann Miller' twice", 'a policy of <name> said <quoted> twice'],
  ])('the support bundle masks %s', (text, shown) => {
    expect(maskText(text)).toBe(shown);
  });

  it('the support bundle leaves out a log line that is not a JSON object', () => {
    for (const line of ['', 'null', '3', '{"msg"', '[]x']) expect(maskLogLine(line)).toBeNull();
  });
});

/** Reads the files of a zip from its central directory. */
function readZipFiles(zip: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  let at = zip.readUInt32LE(zip.length - 6);
  for (let left = zip.readUInt16LE(zip.length - 12); left > 0; left -= 1) {
    const nameLength = zip.readUInt16LE(at + 28);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    const local = zip.readUInt32LE(at + 42);
    const from = local + 30 + zip.readUInt16LE(local + 26);
    const packed = zip.subarray(from, from + zip.readUInt32LE(at + 20));
    files.set(name, (zip.readUInt16LE(at + 10) === 8 ? inflateRawSync(packed) : packed).toString());
    at += 46 + nameLength;
  }
  return files;
}
