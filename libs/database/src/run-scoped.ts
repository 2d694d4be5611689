import { AppError } from '@muster/contracts';
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { type Scope, ScopedQuery } from './scoped-query';

/** One statement in its scope, on a pool. */
export async function runScoped<T extends QueryResultRow>(
  pool: Pool,
  scope: Scope,
  config: { text: string; values: unknown[]; name?: string },
): Promise<QueryResult<T>> {
  const client = await pool.connect();
  try {
    return await submit<T>(client, scope, config);
  } finally {
    client.release();
  }
}

function submit<T extends QueryResultRow>(
  client: PoolClient,
  scope: Scope,
  config: { text: string; values: unknown[]; name?: string },
): Promise<QueryResult<T>> {
  return new Promise((resolve, reject) => {
    client.query(
      new ScopedQuery(scope, config, (error, result) => (error ? reject(error) : resolve(result as QueryResult<T>))),
    );
  });
}

/** TypeORM's own pool: one set of connections for both ways of asking. */
export function poolOf(dataSource: DataSource): Pool {
  if (!dataSource.isInitialized) throw notConnected();
  return (dataSource.driver as unknown as { master: Pool }).master;
}

export function notConnected(): AppError {
  return new AppError('service_unavailable', { detail: 'The database is not connected yet; try again.' });
}
