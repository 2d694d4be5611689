import { DatabaseError } from 'pg';

/** Whether Postgres reported the error of a statement or of the commit, so that nothing was committed. */
export function isRolledBackError(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === 'ERROR';
}
