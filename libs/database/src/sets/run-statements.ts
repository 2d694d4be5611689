import type { DataSource } from 'typeorm';
import { answerOfRow, rowsStatement, rowStatement } from '../transactions/row-statement';
import { sendScoped } from '../transactions/run-scoped';
import { type Scope, setScope, setScopeOfSet } from '../transactions/scope';
import type { RowStatement } from '../transactions/statement-batch';
import { isRolledBack } from './is-rolled-back';
import type { SetResult } from './sets';

/** A statement that is a transaction by itself. */
export interface SharedStatement {
  alone: RowStatement;
  /** Form for a set of several callers, which returns no row for a caller whose row is locked. */
  together: RowStatement;
  values: readonly unknown[];
}

/**
 * Runs the statement of several callers once, with their rows of parameters. If it fails, Postgres executes it for none
 * of them, and each caller's statement runs alone.
 */
export function runStatements(
  dataSource: DataSource,
  scope: Scope,
  statements: readonly SharedStatement[],
  now: Date,
): Promise<SetResult[]> {
  const [first] = statements;
  const isSingle = statements.length === 1;
  const sent = isSingle
    ? [setScope(scope, now), rowStatement(first!.alone, first!.values)]
    : [
        setScopeOfSet(scope, now),
        rowsStatement(
          first!.together,
          statements.map(({ values }) => values),
        ),
      ];
  return new Promise((resolve, reject) => {
    sendScoped(dataSource, { scope, statements: sent }, (error, [, answer]) => {
      if (error) return isRolledBack(error) ? resolve(statements.map(() => 'alone')) : reject(error);
      if (isSingle) return resolve([{ value: answer!.rows }]);
      const results = statements.map((_, at) => answerOfRow(answer!, at + 1).rows);
      resolve(results.map((rows) => (rows.length > 0 ? { value: rows } : 'alone')));
    });
  });
}
