import { AppError } from '@muster/contracts';
import { DatabaseError, type Pool, type QueryResult, type QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { type Scope, ScopedQuery } from './scoped-query';

/** One statement in its scope, on a pool. One promise for all of it: this is in the path of every request. */
export function runScoped<T extends QueryResultRow>(
  pool: Pool,
  scope: Scope,
  config: { text: string; values: unknown[]; name?: string },
): Promise<QueryResult<T>> {
  return new Promise((resolve, reject) => {
    pool.connect((failure, client, release) => {
      if (!client) return reject(failure!);
      let lent = true;
      const query = new ScopedQuery(scope, config, (error, result) => {
        // pg tells the end even of a statement that it has reported as failed.
        if (!lent) return;
        lent = false;
        // A connection that gave no answer may still be at work on the statement: the next one must not wait behind it.
        release(error && !(error instanceof DatabaseError) ? error : undefined);
        if (error) reject(error);
        else resolve(result as QueryResult<T>);
      });
      client.query(query);
    });
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

export function connectionLost(cause: unknown): AppError {
  return new AppError('service_unavailable', { detail: 'The database went away meanwhile; try again.', cause });
}
