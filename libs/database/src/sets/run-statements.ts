import { DatabaseError } from 'pg';
import type { DataSource } from 'typeorm';
import { poolOf } from '../transactions/run-scoped';
import { roleOf, type Scope, setScope } from '../transactions/scope';
import { type Statement, StatementBatch } from '../transactions/statement-batch';
import { submit } from '../transactions/wire-connection';
import { isRolledBack } from './is-rolled-back';
import type { SetResult } from './sets';

/** A statement, and its form in a set of several, which answers no row if the row is locked. */
export interface SharedStatement {
  alone: Statement;
  together: { name: string; text: string };
}

/**
 * Runs statements of several callers in one round trip and one implicit transaction. If one of them fails, Postgres
 * executes none of them, and each caller's statement runs alone.
 */
export function runStatements(
  dataSource: DataSource,
  scope: Scope,
  statements: readonly SharedStatement[],
  now: Date,
): Promise<SetResult[]> {
  const isSingle = statements.length === 1;
  const sent = statements.map(({ alone, together }) => (isSingle ? alone : { ...alone, ...together }));
  return new Promise((resolve, reject) => {
    poolOf(dataSource).connect((failure, client, release) => {
      if (!client) return reject(failure!);
      const batch = new StatementBatch(
        [setScope(scope, now), ...sent],
        (error, answers) => {
          release(error && !(error instanceof DatabaseError) ? error : undefined);
          if (!error)
            resolve(answers.slice(1).map(({ rows }) => (isSingle || rows.length > 0 ? { value: rows } : 'alone')));
          else if (isRolledBack(error)) resolve(statements.map(() => 'alone'));
          else reject(error);
        },
        roleOf(scope),
      );
      submit(client, batch);
    });
  });
}
