import type { Role, Statement } from './statement-batch';

/** Whose rows a statement may see: one organization's, or, for the service's own work, all. */
export type Scope = { organizationId: string } | 'system';

export function roleOf(scope: Scope): Role {
  return scope === 'system' ? 'system' : 'app';
}

/**
 * Sets, until the transaction ends, whose rows its statements see, and the moment that all of them take for now:
 * `muster_now()`. Without a moment that is the database's own clock.
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
