import { rowsStatement } from '../transactions/row-statement';
import type { Statement } from '../transactions/statement-batch';

/** The statements to send for several callers, and where each caller's statement is among them. */
export interface MergedStatements {
  statements: Statement[];
  /** For each caller the index in `statements` of each of its own statements. */
  places: number[][];
}

/**
 * Combines the statements of several callers. Each caller's statements keep their order. If the next statement of a
 * caller writes a row that can be merged, it is merged with the equal next statements of the other callers.
 */
export function mergeStatements(callers: readonly (readonly Statement[])[]): MergedStatements {
  const statements: Statement[] = [];
  const places: number[][] = callers.map(() => []);
  const next = (caller: number) => callers[caller]![places[caller]!.length];
  for (let caller = 0; caller < callers.length; caller += 1) {
    for (let statement = next(caller); statement; statement = next(caller)) {
      const into = statement.row?.into;
      const together = into
        ? callers.flatMap((_, other) => (next(other)?.row?.into === into ? [other] : []))
        : [caller];
      const rows = together.map((other) => next(other)!.row?.values ?? []);
      for (const other of together) places[other]!.push(statements.length);
      statements.push(into && rows.length > 1 ? rowsStatement(into, rows) : statement);
    }
  }
  return { statements, places };
}
