import type { Role, Statement } from './statement-batch';

/** The rows that a statement may see: those of one organization, or all rows for the service's own work. */
export type Scope = { organizationId: string } | 'system';

export function roleOf(scope: Scope): Role {
  return scope === 'system' ? 'system' : 'app';
}

/**
 * Sets until the end of the transaction the rows that its statements see, and the time that `muster_now()` returns to
 * them. Without a time, `muster_now()` uses the database's clock.
 */
export function setScope(scope: Scope, now?: Date): Statement {
  const [role, organizationId] = scope === 'system' ? ['muster_system', ''] : ['muster_app', scope.organizationId];
  return {
    name: 'muster_set_scope',
    text: `SELECT set_config('role', $1, true), set_config('muster.organization_id', $2, true),
                  set_config('muster.now', $3, true)`,
    values: [role, organizationId, now?.toISOString() ?? ''],
  };
}
