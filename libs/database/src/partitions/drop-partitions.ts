import { Client, DatabaseError } from 'pg';

/**
 * Maximum time in milliseconds that a statement waits for transactions that use the table. Statements of others do not
 * queue behind it. After this time, the caller's next round continues.
 */
const lockTimeoutMs = 2000;

/** Codes of Postgres for a partition that is in use, or that another process is dropping. */
const later = new Set(['55P03', '55000', '42P01']);

export interface ExpiredPartition {
  name: string;
  /** The bounds of a `pending` partition have been removed, but transactions may still use it. */
  state: 'attached' | 'pending' | 'detached';
}

/**
 * Drops partitions as the user of the database URL. DETACH CONCURRENTLY, in contrast to a plain DROP, does not lock the
 * partitioned table against readers and writers, but it cannot run in a transaction or a function, so it needs its own
 * connection. Returns the number of partitions dropped, and null if the user does not own the table.
 */
export async function dropPartitions(
  databaseUrl: string,
  parent: string,
  partitions: readonly ExpiredPartition[],
): Promise<number | null> {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    application_name: 'muster-partitions',
    options: `-c lock_timeout=${lockTimeoutMs}`,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ owns: boolean }>(
      `SELECT pg_has_role(relowner, 'USAGE') AS owns FROM pg_class WHERE oid = $1::regclass`,
      [parent],
    );
    if (!rows[0]?.owns) return null;
    let dropped = 0;
    for (const partition of partitions) dropped += (await dropPartition(client, parent, partition)) ? 1 : 0;
    return dropped;
  } finally {
    await client.end();
  }
}

async function dropPartition(client: Client, parent: string, { name, state }: ExpiredPartition): Promise<boolean> {
  const detach = `ALTER TABLE ${client.escapeIdentifier(parent)} DETACH PARTITION ${client.escapeIdentifier(name)}`;
  try {
    if (state === 'attached') await client.query(`${detach} CONCURRENTLY`);
    if (state === 'pending') await client.query(`${detach} FINALIZE`);
    await client.query(`DROP TABLE ${client.escapeIdentifier(name)}`);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && later.has(error.code ?? '')) return false;
    throw error;
  }
}
