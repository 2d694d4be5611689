import { setTimeout as delay } from 'node:timers/promises';
import { createOwnerDataSource, migrateDatabase, migrations } from '@muster/database';
import { seedLargeOrganization } from '@muster/testing';
import { Client } from 'pg';
import { createDatabase, runOnBenchStack } from './bench-stack';
import { chooseSize } from './short';

// Undoes the newest migrations on a large database, runs them again one by one, and measures how long the statements of
// the service wait meanwhile. BENCH_MIGRATIONS, BENCH_JOBS and BENCH_ENTRIES set the number and the size.

const readNumber = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const count = readNumber('BENCH_MIGRATIONS', chooseSize(10, 2));
const size = {
  jobs: readNumber('BENCH_JOBS', chooseSize(1_000_000, 300)),
  agents: chooseSize(10_000, 20),
  entries: readNumber('BENCH_ENTRIES', chooseSize(20_000_000, 600)),
};
const maxWaitMs = 500;
const pauseMs = 10;
/** Tables that runs, machines and sign-ins write to. Each is written to all the time by its own connection. */
const tables = [
  ...['agent', 'agent_command', 'audit_entry', 'job', 'job_step', 'organization_settings', 'outbox', 'run_cost'],
  ...['schedule', 'timeline_entry', 'timeline_head', 'usage_counter', 'usage_event', 'user_session'],
  'webhook_delivery',
];

interface Wait {
  table: string;
  ms: number;
}

void runOnBenchStack(async (stack) => {
  const url = await createDatabase(stack, { migrated: true });
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`SET session_replication_role = 'replica'; SET synchronous_commit = 'off'`);
  await seedLargeOrganization(client, size);
  await client.query('ANALYZE');
  await client.end();
  const undone = await undoNewestMigrations(url);

  console.log(`migrations on ${size.jobs} runs and ${size.entries} timeline entries, the newest ${undone.length}:`);
  let missed = 0;
  for (const name of undone) {
    const until = migrations.findIndex((migration) => migration.name === name);
    const only = migrations.slice(0, until + 1).map((migration) => migration.name);
    const began = performance.now();
    const worst = await measureWaits(url, () => migrateDatabase(url, { only }));
    const isMet = worst.ms <= maxWaitMs;
    if (!isMet) missed += 1;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(
      `  ${name.padEnd(44)} ${seconds.padStart(7)} s; longest wait ${worst.ms.toFixed(0)} ms (${worst.table}): ${isMet ? 'met' : 'not met'}`,
    );
  }
  console.log(
    `migrations: no statement waits over ${maxWaitMs} ms: ${missed === 0 ? 'met' : `not met by ${missed} of ${undone.length}`}\n`,
  );
});

/** Undoes the newest migrations and returns their names, the oldest first. */
async function undoNewestMigrations(url: string): Promise<string[]> {
  const source = await createOwnerDataSource(url).initialize();
  try {
    for (let undone = 0; undone < count; undone += 1) await source.undoLastMigration();
  } finally {
    await source.destroy();
  }
  return migrations.slice(-count).map(({ name }) => name);
}

/** Writes to each table until the work is done, and returns the longest time that one statement took. */
async function measureWaits(url: string, work: () => Promise<unknown>): Promise<Wait> {
  let isDone = false;
  const clients = await Promise.all(
    tables.map(async () => {
      const client = new Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const writing = tables.map(async (table, at): Promise<Wait> => {
    const client = clients[at]!;
    const write = await buildWrite(client, table);
    let ms = 0;
    while (!isDone) {
      const began = performance.now();
      await client.query(write);
      ms = Math.max(ms, performance.now() - began);
      await delay(pauseMs);
    }
    return { table, ms };
  });
  try {
    await work();
  } finally {
    isDone = true;
  }
  const waits = await Promise.all(writing);
  await Promise.all(clients.map((client) => client.end()));
  return waits.reduce((worst, wait) => (wait.ms > worst.ms ? wait : worst));
}

/** Returns a statement that takes the locks of an update of one row, and changes nothing. */
async function buildWrite(client: Client, table: string): Promise<string> {
  const { rows } = await client.query<{ key: string; first: string }>(
    `SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.at) AS key, min(quote_ident(a.attname)) AS first
     FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (attnum, at)
     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
     WHERE i.indrelid = $1::regclass AND i.indisprimary`,
    [table],
  );
  const { key, first } = rows[0]!;
  return `UPDATE ${table} SET ${first} = ${first} WHERE (${key}) = (SELECT ${key} FROM ${table} LIMIT 1)`;
}
