import type { Answer, RowStatement, Statement } from './statement-batch';
import { rowsToColumns } from './transpose-rows';

/**
 * Builds the two forms of a statement from one text. `columns` are the parameters with their types. `text` is called
 * with a table expression for the rows of parameters, `input`. It has these columns and `member`, the number of the row
 * from 1. Rows that the statement returns must have the `member` to which they belong. An EXISTS in the list of columns
 * may be planned as a hash of its whole table; `(SELECT … LIMIT 1) IS NOT NULL` is not.
 */
export function buildRowStatements(
  name: string,
  columns: Readonly<Record<string, string>>,
  text: (rows: string) => string,
): Required<RowStatement> {
  const types = Object.values(columns);
  const alias = `AS input (${[...Object.keys(columns), 'member'].join(', ')})`;
  const parameterListSql = (suffix: string) => types.map((type, at) => `$${at + 1}::${type}${suffix}`).join(', ');
  return {
    // Postgres replaces the only row of VALUES with its values, so the plan is that of a statement with parameters.
    one: { name, text: text(`(VALUES (${parameterListSql('')}, 1)) ${alias}`) },
    many: { name: `${name}_set`, text: text(`unnest(${parameterListSql('[]')}) WITH ORDINALITY ${alias}`) },
  };
}

/** Returns the statement for one row of parameters. */
export function buildStatementForRow(into: RowStatement, values: readonly unknown[]): Statement {
  const statement = into.one ? { ...into.one, values } : buildStatementForRows(into, [values]);
  return { ...statement, row: { into, values } };
}

/** Returns the statement for several rows of parameters. */
export function buildStatementForRows(into: RowStatement, rows: readonly (readonly unknown[])[]): Statement {
  return { ...into.many, values: rowsToColumns(rows) };
}

/** Returns the part of the answer that belongs to one row of parameters. `member` is the number of this row, from 1. */
export function pickAnswerOfRow({ rows, command }: Answer, member: number): Answer {
  const own = rows.filter((row) => Number(row['member']) === member);
  return { rows: own, affected: own.length, command };
}
