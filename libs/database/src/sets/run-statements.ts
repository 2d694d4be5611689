import type { DataSource } from 'typeorm';
import { sendScoped } from '../transactions/run-scoped';
import type { Scope } from '../transactions/scope';
import type { Statement } from '../transactions/statement-batch';
import { isRolledBack } from './is-rolled-back';
import type { SetResult } from './sets';

/** A statement, and its form for a set of several statements, which returns no row if the row is locked. */
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
    sendScoped(dataSource, { scope, now, statements: sent }, (error, answers) => {
      if (!error) resolve(answers.map(({ rows }) => (isSingle || rows.length > 0 ? { value: rows } : 'alone')));
      else if (isRolledBack(error)) resolve(statements.map(() => 'alone'));
      else reject(error);
    });
  });
}
