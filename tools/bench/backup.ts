import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { seedLargeOrganization } from '@muster/testing';
import { Client } from 'pg';
import { takeBackup } from '../admin/backup/take-backup';
import { createStorage } from '../admin/installation';
import { FolderPlace } from '../admin/place/folder-place';
import { restoreBackup } from '../admin/restore/restore-backup';
import { runForEach } from '../admin/run-in-parallel';
import { version } from '../admin/version';
import { startObjectStore } from '../dev-stack/src/object-store/object-store';
import { type BenchStack, createDatabase, runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { Routes } from './load/routes';
import { chooseSize } from './short';

// Compares a backup and a restore of a large installation with pg_dump and pg_restore, and launches during a backup with
// launches before it. BENCH_JOBS, BENCH_ENTRIES and BENCH_OBJECTS set the size.

const readNumber = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const size = {
  jobs: readNumber('BENCH_JOBS', chooseSize(1_000_000, 300)),
  agents: chooseSize(2000, 20),
  entries: readNumber('BENCH_ENTRIES', chooseSize(20_000_000, 600)),
};
const objects = readNumber('BENCH_OBJECTS', chooseSize(100_000, 10));
const objectBytes = 4096;
const jobs = 2;
const launchesPerSecond = chooseSize(20, 5);
const secondsBefore = chooseSize(30, 1);
const targets = { time: 1.5, p99: 2 };
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };

void runOnBenchStack(async (server) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-backup-'));
  const [source, target] = await Promise.all(
    ['source', 'target'].map((name) =>
      startObjectStore({ dataDir: join(folder, name), buckets: ['muster'], credentials }),
    ),
  );
  try {
    await compareBackupTools(server, folder, { source: source!.endpoint, target: target!.endpoint });
  } finally {
    await Promise.all([source!.stop(), target!.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
});

async function compareBackupTools(
  server: BenchStack,
  folder: string,
  endpoints: { source: string; target: string },
): Promise<void> {
  const stack = { ...server, databaseUrl: await createDatabase(server, { migrated: true }) };
  const environment = { DATABASE_URL: stack.databaseUrl, ...buildS3Environment(endpoints.source) };
  await insertYearOfData(stack.databaseUrl, environment);
  const tools = await findPostgresTools(server);

  const dump = join(folder, 'pg_dump');
  const dumpMs = tools && (await measureMs(() => tools.dump(stack.databaseUrl, dump)));
  const launches = await startLaunches(stack);
  const before = await launches.measureRoutes(() => launches.sendFor(secondsBefore));
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  const place = new FolderPlace(join(folder, 'backups'));
  const storage = createStorage(environment);
  let backupMs = 0;
  const during = await launches.measureRoutes(async () => {
    backupMs = await measureMs(() =>
      launches.sendDuring(
        takeBackup({
          ...{ place, storage, environment, version, jobs, databaseUrl: stack.databaseUrl },
          keys: { recipients: [recipient], identities: [] },
          withKeys: false,
          now: new Date(),
          onProgress: () => undefined,
        }),
      ),
    );
  });
  await launches.stop();
  await storage.onApplicationShutdown();

  const restoredByTool = tools && (await createDatabase(server));
  const restoreToolMs = tools && (await measureMs(() => tools.restore(restoredByTool!, dump)));
  const restoreMs = await measureMs(async () =>
    restoreBackup({
      place,
      keys: { recipients: [], identities: [identity] },
      environment: { DATABASE_URL: await createDatabase(server), ...buildS3Environment(endpoints.target) },
      jobs,
      onProgress: () => undefined,
    }),
  );

  console.log(
    `backup of ${size.jobs} runs, ${size.entries} timeline entries and ${objects} objects:` +
      (tools ? '' : ' not compared, pg_dump is not available'),
  );
  printTime('backup', backupMs, dumpMs === null ? null : ['pg_dump', dumpMs]);
  printTime('restore', restoreMs, restoreToolMs === null ? null : ['pg_restore', restoreToolMs]);
  const ratio = during.p99 / before.p99;
  console.log(
    `  launches: p99 ${before.p99.toFixed(1)} ms before and ${during.p99.toFixed(1)} ms during the backup (${during.count} launches, ${during.failed} failed), ` +
      `${ratio.toFixed(2)} times, target ${targets.p99}: ${ratio <= targets.p99 && during.failed === 0 ? 'met' : 'not met'}\n`,
  );
}

function buildS3Environment(endpoint: string) {
  return {
    S3_ENDPOINT: endpoint,
    S3_BUCKET: 'muster',
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
}

/** Creates the data of a year, and the objects of its artifacts. */
async function insertYearOfData(databaseUrl: string, environment: Record<string, string | undefined>): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`SET session_replication_role = 'replica'; SET synchronous_commit = 'off'`);
  await seedLargeOrganization(client, size);
  await client.query('DELETE FROM artifact');
  const { rows } = await client.query<{ key: string }>(
    `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
     SELECT gen_random_uuid(), a.organization_id, a.id, 'other', 'a.bin', 'application/octet-stream', $2, 'artifacts/' || n
     FROM generate_series(1, $1::int) AS n CROSS JOIN (SELECT id, organization_id FROM agent LIMIT 1) a
     RETURNING storage_key AS key`,
    [objects, objectBytes],
  );
  await client.query('ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  const storage = createStorage(environment);
  const content = Buffer.alloc(objectBytes, 'object');
  await runForEach(rows, 16, ({ key }) => storage.put(key, content, 'application/octet-stream'));
  await storage.onApplicationShutdown();
}

interface PostgresTools {
  dump(databaseUrl: string, folder: string): Promise<unknown>;
  restore(databaseUrl: string, folder: string): Promise<unknown>;
}

/** Returns pg_dump and pg_restore of the running server's version; null if only the server is installed. */
async function findPostgresTools({ postgresPid }: BenchStack): Promise<PostgresTools | null> {
  const bin = dirname(await readlink(`/proc/${postgresPid}/exe`));
  const run = promisify(execFile);
  try {
    await Promise.all(['pg_dump', 'pg_restore'].map((name) => access(join(bin, name))));
  } catch {
    return null;
  }
  const common = ['--no-owner', '--no-privileges', `--jobs=${jobs}`];
  return {
    dump: async (url, folder) => {
      await mkdir(dirname(folder), { recursive: true });
      const args = ['--format=directory', '--compress=1', `--jobs=${jobs}`, `--file=${folder}`, `--dbname=${url}`];
      return run(join(bin, 'pg_dump'), args);
    },
    restore: (url, folder) => run(join(bin, 'pg_restore'), [...common, `--dbname=${url}`, folder]),
  };
}

/** Starts a gateway whose launches are measured. */
async function startLaunches(stack: BenchStack) {
  const tenant = await makeBenchTenant(stack, 100);
  const gateway = await startApp('gateway', stack, { INTERNAL_PORT: '0', REDIS_PREFIX: 'backup' });
  let routes = new Routes();
  let sent = 0;
  const sendLaunch = () => {
    sent += 1;
    const body = {
      workflowId: tenant.workflowId,
      agentId: tenant.agentIds[sent % tenant.agentIds.length],
      variables: { CLAIM_ID: `C-${sent}` },
    };
    return routes.post('launch', `${gateway.url}/api/jobs/launch`, body, { 'x-api-key': tenant.apiKey });
  };
  const sendFor = (seconds: number) => routes.sendAtRate(launchesPerSecond, seconds, sendLaunch);
  return {
    sendFor,
    /** Sends launches until the work is done, and returns its result. */
    sendDuring: async <Result>(work: Promise<Result>): Promise<Result> => {
      let isDone = false;
      const done = work.finally(() => (isDone = true));
      done.catch(() => undefined);
      while (!isDone) await sendFor(1);
      return done;
    },
    measureRoutes: async (work: () => Promise<unknown>) => {
      routes = new Routes();
      await work();
      await routes.waitUntilAnswered();
      return routes.summarizeRoutes()[0]!;
    },
    stop: () => gateway.stop(),
  };
}

async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function printTime(name: string, ms: number, compared: [name: string, ms: number] | null): void {
  const formatSeconds = (value: number) => `${(value / 1000).toFixed(1)} s`;
  if (!compared) return console.log(`  ${name}: ${formatSeconds(ms)}`);
  const ratio = ms / compared[1];
  console.log(
    `  ${name}: ${formatSeconds(ms)}, ${compared[0]} ${formatSeconds(compared[1])}, ${ratio.toFixed(2)} times, target ${targets.time}: ${ratio <= targets.time ? 'met' : 'not met'}`,
  );
}
