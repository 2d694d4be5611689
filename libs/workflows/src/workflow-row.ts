import { notFoundError } from '@muster/contracts';
import type { Database, Transaction, WorkflowEntity, WorkflowRevisionEntity } from '@muster/database';

/** A workflow with its current revision. */
export type WorkflowRow = Pick<
  WorkflowEntity,
  | 'id'
  | 'name'
  | 'description'
  | 'maxCostMicros'
  | 'workflowPackInstallationId'
  | 'concurrencyKeys'
  | 'accounts'
  | 'sensitiveVariables'
  | 'sensitiveResults'
  | 'revision'
  | 'version'
  | 'source'
  | 'createdAt'
  | 'updatedAt'
> &
  Pick<WorkflowRevisionEntity, 'variables' | 'script' | 'steps'>;

const columns = `w.id, w.name, w.description, w.max_cost_micros, w.workflow_pack_installation_id, w.concurrency_keys,
  w.accounts, w.sensitive_variables, w.sensitive_results, w.revision, w.version, w.source, r.variables, r.script, r.steps,
  w.created_at, w.updated_at`;
const join = 'workflow w JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision';

export async function findWorkflow(database: Database, organizationId: string, id: string): Promise<WorkflowRow> {
  const [row] = await database.query<WorkflowRow>(
    { organizationId },
    `SELECT ${columns} FROM ${join} WHERE w.id = $1 AND w.organization_id = $2 AND w.archived_at IS NULL`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('workflow');
  return row;
}

/**
 * Locks and reads a workflow. The lock is a separate statement: a single statement that waits for the lock would then
 * join the revision from before the wait, or none.
 */
export async function lockWorkflow(tx: Transaction, organizationId: string, id: string): Promise<WorkflowRow> {
  tx.deferStatement('SELECT FROM workflow WHERE id = $1 AND organization_id = $2 FOR UPDATE', [id, organizationId]);
  const [row] = await tx.query<WorkflowRow>(
    `SELECT ${columns} FROM ${join} WHERE w.id = $1 AND w.organization_id = $2 AND w.archived_at IS NULL`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('workflow');
  return row;
}
