import type { Statement } from './statement-batch';

/** Whose rows a statement may see: one organization's, or, for the service's own work, all. */
export type Scope = { organizationId: string } | 'system';

/** Sets the scope until the transaction ends: what follows in it sees the scope's rows alone. */
export function setScope(scope: Scope): Statement {
  return {
    name: 'muster_set_scope',
    text: "SELECT set_config('role', $1, true), set_config('muster.organization_id', $2, true)",
    values: scope === 'system' ? ['muster_system', ''] : ['muster_app', scope.organizationId],
  };
}
