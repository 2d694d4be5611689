import { pickAnswerOfRow, buildStatementForRows } from '../transactions/row-statement';
import type { Answer, Statement } from '../transactions/statement-batch';

/** Where the answer to a caller's statement is found. */
interface Place {
  /** Index of the sent statement whose answer contains that of the caller's statement. */
  at: number;
  /** Position of the caller's row in a statement for several rows, counted from 1. */
  member?: number;
}

/** The statements to send for several callers, and where the answers to each caller's own statements are. */
export interface MergedStatements {
  statements: Statement[];
  places: Place[][];
}

/**
 * Combines the statements of several callers. Each caller's statements keep their order. If the next statement of a
 * caller takes a row of parameters, it is merged with the equal next statements of the other callers.
 */
export function mergeStatements(callers: readonly (readonly Statement[])[]): MergedStatements {
  const statements: Statement[] = [];
  const places: Place[][] = callers.map(() => []);
  const nextStatementOf = (caller: number) => callers[caller]![places[caller]!.length];
  for (let caller = 0; caller < callers.length; caller += 1) {
    for (let statement = nextStatementOf(caller); statement; statement = nextStatementOf(caller)) {
      const into = statement.row?.into;
      const together = into
        ? callers.flatMap((_, other) => (nextStatementOf(other)?.row?.into === into ? [other] : []))
        : [caller];
      const rows = together.map((other) => nextStatementOf(other)!.row?.values ?? []);
      const at = statements.length;
      const isMerged = into && rows.length > 1;
      for (const [row, other] of together.entries()) places[other]!.push(isMerged ? { at, member: row + 1 } : { at });
      statements.push(isMerged ? buildStatementForRows(into, rows) : statement);
    }
  }
  return { statements, places };
}

/** Returns the answers to each caller's own statements. */
export function splitAnswersByCaller(answers: readonly Answer[], places: MergedStatements['places']): Answer[][] {
  return places.map((own) =>
    own.map(({ at, member }) => (member === undefined ? answers[at]! : pickAnswerOfRow(answers[at]!, member))),
  );
}
