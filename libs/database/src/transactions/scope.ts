import { preferKeyIndexesSql, avoidSortingSql } from './planner-settings';
import type { Role, Statement } from './statement-batch';

/** The rows that a statement may see: those of one organization, or all rows for the service's own work. */
export type Scope = { organizationId: string } | 'system';

export function getScopeRole(scope: Scope): Role {
  return scope === 'system' ? 'system' : 'app';
}

/**
 * Sets until the end of the transaction the rows that its statements see, and the time that `muster_now()` returns to
 * them. Without a time, `muster_now()` uses the database's clock.
 */
export function setScopeStatement(scope: Scope, now?: Date): Statement {
  return { name: 'muster_set_scope', text: `SELECT ${scopeSql}`, values: getScopeValues(scope, now) };
}

/**
 * Like `setScopeStatement`, for a set: its statements find rows by their keys and read them in the order of an index.
 */
export function setScopeOfSetStatement(scope: Scope, now: Date): Statement {
  return {
    name: 'muster_set_scope_of_set',
    text: `SELECT ${scopeSql}, ${preferKeyIndexesSql}, ${avoidSortingSql}`,
    values: getScopeValues(scope, now),
  };
}

const scopeSql = `set_config('role', $1, true), set_config('muster.organization_id', $2, true),
  set_config('muster.now', $3, true)`;

function getScopeValues(scope: Scope, now?: Date): string[] {
  const [role, organizationId] = scope === 'system' ? ['muster_system', ''] : ['muster_app', scope.organizationId];
  return [role, organizationId, now?.toISOString() ?? ''];
}
