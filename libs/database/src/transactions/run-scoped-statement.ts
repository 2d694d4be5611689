import { AppError } from '@muster/contracts';
import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { isRetryableError } from '../database-errors';
import { preferIndexOrder } from './planner-settings';
import { getScopeRole, type Scope, setScopeStatement } from './scope';
import { type Answer, type Statement, StatementBatch } from './statement-batch';
import { commitUnflushed } from './unflushed';
import { submitStatement } from './wire-connection';

/**
 * Runs one statement in its scope, in one round trip. The statement that sets the scope is sent before it in the same
 * implicit transaction, and the scope ends with that transaction. Creates only one promise, because every request runs
 * this code.
 */
export function runScopedStatement<T extends QueryResultRow>(
  dataSource: DataSource,
  scope: Scope,
  statement: Statement,
  options: { now?: Date; unflushed?: boolean; inOrder?: boolean; attempt?: number } = {},
): Promise<T[]> {
  const { now, unflushed = false, inOrder = false, attempt = 1 } = options;
  return new Promise((resolve, reject) => {
    const settings = [...(unflushed ? [commitUnflushed] : []), ...(inOrder ? [preferIndexOrder] : [])];
    sendScopedStatements(
      dataSource,
      { scope, statements: [setScopeStatement(scope, now), ...settings, statement] },
      (error, answers) => {
        // Postgres rolls back a deadlock victim completely, so the statement can be retried.
        if (error && attempt < 3 && isRetryableError(error)) {
          resolve(runScopedStatement<T>(dataSource, scope, statement, { ...options, attempt: attempt + 1 }));
        } else if (error) reject(error);
        else resolve(answers.at(-1)!.rows as T[]);
      },
    );
  });
}

/**
 * Sends statements in one round trip and one implicit transaction, and passes their answers on. The first statement
 * sets the scope.
 */
export function sendScopedStatements(
  dataSource: DataSource,
  { scope, statements }: { scope: Scope; statements: readonly Statement[] },
  done: (error: Error | null, answers: Answer[]) => void,
): void {
  getTypeOrmPool(dataSource).connect((failure, client, release) => {
    if (!client) return done(failure!, []);
    const batch = new StatementBatch(
      statements,
      (error, answers) => {
        // Without an answer the connection may still execute a statement, so other statements must not use it.
        release(error && !(error instanceof DatabaseError) ? error : undefined);
        done(error, answers);
      },
      getScopeRole(scope),
    );
    submitStatement(client, batch);
  });
}

/** Returns TypeORM's pool, so that TypeORM and our own statements share their connections. */
export function getTypeOrmPool(dataSource: DataSource): Pool {
  if (!dataSource.isInitialized) throw notConnectedError();
  return (dataSource.driver as unknown as { master: Pool }).master;
}

function notConnectedError(): AppError {
  return new AppError('service_unavailable', { detail: 'The database is not connected yet; try again.' });
}
