import { Transform } from 'node:stream';
import { pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { runInParallel } from '../run-in-parallel';
import type { SavedTable } from './manifest';
import { readObjectKeys } from './object-keys';
import { paths } from './manifest';
import type { Repository } from './repository';
import { RowSum } from './row-sum';

export interface DumpedDatabase {
  postgres: string;
  migrations: string[];
  tables: SavedTable[];
  sequences: { name: string; value: string; called: boolean }[];
  /** Keys of the objects that the rows refer to. */
  objectKeys: string[];
}

export interface DumpOptions {
  databaseUrl: string;
  id: string;
  repository: Repository;
  /** Number of tables that are dumped at once, each on its own connection. */
  jobs: number;
  onProgress: (line: string) => void;
}

/**
 * Dumps all tables in one consistent snapshot. The first connection exports its snapshot to the others, as pg_dump does
 * in its directory format; the row files have the same content as pg_dump's. The schema is not saved: the migrations
 * that the manifest lists create it.
 */
export async function dumpDatabase(options: DumpOptions): Promise<DumpedDatabase> {
  const { databaseUrl, jobs, onProgress } = options;
  const leader = await connectTo(databaseUrl);
  try {
    await leader.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    // The scheduler drops no partition of the snapshot while this lock is held.
    await leader.query('LOCK TABLE timeline_entry IN ACCESS SHARE MODE');
    const [{ snapshot }] = await queryRows<{ snapshot: string }>(leader, 'SELECT pg_export_snapshot() AS snapshot');
    const [{ postgres }] = await queryRows<{ postgres: string }>(
      leader,
      "SELECT current_setting('server_version') AS postgres",
    );
    const migrations = (await queryRows<{ name: string }>(leader, 'SELECT name FROM schema_migration ORDER BY id')).map(
      ({ name }) => name,
    );
    const described = await queryRows<DescribedTable>(leader, describeTables);
    const total = described.reduce((sum, { size }) => sum + Number(size), 0);
    let done = 0;
    let count = 0;
    const tables: SavedTable[] = [];
    const objectKeys = await readObjectKeys(leader);
    await runInParallel(
      described,
      Math.min(jobs, described.length),
      async () => {
        const client = await connectTo(databaseUrl);
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
        await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
        return { client, close: () => client.end() };
      },
      async ({ client }, table) => {
        tables.push(await dumpTable(client, table, options));
        done += Number(table.size);
        count += 1;
        const share = total ? Math.floor((100 * done) / total) : 100;
        onProgress(`database: ${count} of ${described.length} tables, ${share} %`);
      },
    );
    const sequences = await queryRows<DumpedDatabase['sequences'][number]>(leader, describeSequences);
    return {
      postgres,
      migrations,
      tables: tables.sort((left, right) => (left.name < right.name ? -1 : 1)),
      sequences,
      objectKeys,
    };
  } finally {
    await leader.end();
  }
}

async function dumpTable(
  client: Client,
  { name, columns, parent, bounds }: DescribedTable,
  { id, repository }: DumpOptions,
): Promise<SavedTable> {
  const sum = new RowSum();
  const rows = pipeline(
    client.query(copyTo(buildCopyStatement({ name, columns }, 'TO STDOUT'))),
    sum,
    createGzipStream(),
    () => undefined,
  );
  const file = await repository.place.write(paths.table(id, name), await repository.seal(rows as Transform));
  return {
    name,
    columns,
    rows: sum.rows,
    hash: sum.hash,
    file,
    partition: parent ? { parent, bounds: bounds! } : null,
  };
}

export function buildCopyStatement({ name, columns }: Pick<SavedTable, 'name' | 'columns'>, direction: string): string {
  return `COPY public.${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) ${direction}`;
}

/**
 * Compresses at level 1, the fastest one. Rows are mostly repetitive text, so this level halves the time and needs only
 * a tenth more space.
 */
export function createGzipStream(): Transform {
  return createGzip({ level: 1, chunkSize: 256 * 1024 });
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Connects with session settings under which a value has the same text on every server. */
export async function connectTo(databaseUrl: string): Promise<Client> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'muster-admin',
    options:
      '-c timezone=UTC -c datestyle=ISO -c extra_float_digits=1 -c bytea_output=hex -c intervalstyle=postgres -c statement_timeout=0 -c idle_in_transaction_session_timeout=0',
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export async function queryRows<Row>(client: Client, sql: string, values: unknown[] = []): Promise<[Row, ...Row[]]> {
  return (await client.query(sql, values)).rows as [Row, ...Row[]];
}

interface DescribedTable {
  name: string;
  columns: string[];
  parent: string | null;
  bounds: string | null;
  size: string;
}

/**
 * Query for the tables, the largest one first, so that no connection is left with a large table at the end. Generated
 * columns are left out, and so are detached partitions, which the scheduler is about to drop.
 */
const describeTables = `
  SELECT c.relname AS name, parent.relname AS parent,
    pg_get_expr(c.relpartbound, c.oid) || COALESCE(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') AS bounds,
    pg_table_size(c.oid) AS size,
    (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
  FROM pg_class c
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
  LEFT JOIN pg_class parent ON parent.oid = i.inhparent
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_migration'
    AND (i.inhparent IS NOT NULL OR c.relname !~ '^timeline_entry_[0-9]{6}$')
  ORDER BY pg_table_size(c.oid) DESC`;

/**
 * Query for the sequences. They are not part of a snapshot, so they are read after the tables: a saved value is never
 * behind its rows.
 */
const describeSequences = `
  SELECT c.relname AS name, COALESCE(pg_sequence_last_value(c.oid), s.seqstart)::text AS value,
    pg_sequence_last_value(c.oid) IS NOT NULL AS called
  FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE 'schema_migration%' ORDER BY 1`;
