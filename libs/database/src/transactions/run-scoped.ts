import { AppError } from '@muster/contracts';
import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { type Scope, setScope } from './scope';
import { type Statement, StatementBatch } from './statement-batch';
import { submit } from './wire-connection';

/** For what a crash may take back because it is only found and done again: Postgres answers before its disk does. */
const hurry: Statement = { name: 'muster_hurry', text: "SELECT set_config('synchronous_commit', 'off', true)" };

/**
 * One statement in its scope, in one round trip: the statement that sets the scope travels in front, in the same
 * implicit transaction, and the scope ends with it. One promise for all of it, as this is in the path of every request.
 */
export function runScoped<T extends QueryResultRow>(
  dataSource: DataSource,
  scope: Scope,
  statement: Statement,
  { forgettable = false }: { forgettable?: boolean } = {},
): Promise<T[]> {
  return new Promise((resolve, reject) => {
    poolOf(dataSource).connect((failure, client, release) => {
      if (!client) return reject(failure!);
      const statements = forgettable ? [setScope(scope), hurry, statement] : [setScope(scope), statement];
      const batch = new StatementBatch(statements, (error, answers) => {
        // A connection that gave no answer may be at work on the statement still: nothing else must wait behind that.
        release(error && !(error instanceof DatabaseError) ? error : undefined);
        if (error) reject(error);
        else resolve(answers.at(-1)!.rows as T[]);
      });
      submit(client, batch);
    });
  });
}

/** TypeORM's own pool: one set of connections for both ways of asking. */
export function poolOf(dataSource: DataSource): Pool {
  if (!dataSource.isInitialized) throw notConnected();
  return (dataSource.driver as unknown as { master: Pool }).master;
}

function notConnected(): AppError {
  return new AppError('service_unavailable', { detail: 'The database is not connected yet; try again.' });
}
