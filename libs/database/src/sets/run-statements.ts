import type { DataSource } from 'typeorm';
import { pickAnswerOfRow, buildStatementForRows, buildStatementForRow } from '../transactions/row-statement';
import { sendScopedStatements } from '../transactions/run-scoped-statement';
import { type Scope, setScopeStatement, setScopeOfSetStatement } from '../transactions/scope';
import type { RowStatement } from '../transactions/statement-batch';
import { isRolledBackError } from './is-rolled-back';
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
    ? [setScopeStatement(scope, now), buildStatementForRow(first!.alone, first!.values)]
    : [
        setScopeOfSetStatement(scope, now),
        buildStatementForRows(
          first!.together,
          statements.map(({ values }) => values),
        ),
      ];
  return new Promise((resolve, reject) => {
    sendScopedStatements(dataSource, { scope, statements: sent }, (error, [, answer]) => {
      if (error) return isRolledBackError(error) ? resolve(statements.map(() => 'alone')) : reject(error);
      if (isSingle) return resolve([{ value: answer!.rows }]);
      const results = statements.map((_, at) => pickAnswerOfRow(answer!, at + 1).rows);
      resolve(results.map((rows) => (rows.length > 0 ? { value: rows } : 'alone')));
    });
  });
}
