import { notFoundError } from '@muster/contracts';
import type { Principal } from '@muster/access';
import type { Database, Transaction, WorkflowRevisionEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { saveWorkflow } from './save-workflow';
import { findWorkflow, type WorkflowRow } from './workflow-row';

export type RevisionRow = Pick<
  WorkflowRevisionEntity,
  'revision' | 'variables' | 'script' | 'steps' | 'restoredFrom' | 'savedBy' | 'createdAt'
>;

/** Lists a workflow's revisions, newest first. */
export async function listRevisions(
  database: Database,
  organizationId: string,
  { id, page }: { id: string; page: Page },
): Promise<RevisionRow[]> {
  await findWorkflow(database, organizationId, id);
  return database.query<RevisionRow>(
    { organizationId },
    `SELECT revision, variables, script, steps, restored_from, saved_by, created_at
     FROM workflow_revision
     WHERE workflow_id = $1 AND organization_id = $2 AND ($3::int IS NULL OR revision < $3)
     ORDER BY revision DESC LIMIT $4`,
    [id, organizationId, page.after?.[0] ?? null, page.limit + 1],
  );
}

/** Saves an old revision again as the newest one: the history is append-only. */
export async function restoreRevision(
  tx: Transaction,
  caller: Principal,
  id: string,
  { revision, ifMatch }: { revision: number; ifMatch?: string },
): Promise<WorkflowRow> {
  const [old] = await tx.query<Pick<RevisionRow, 'variables' | 'script' | 'steps'>>(
    `SELECT variables, script, steps FROM workflow_revision
     WHERE workflow_id = $1 AND organization_id = $2 AND revision = $3`,
    [id, caller.organizationId, revision],
  );
  if (!old) throw notFoundError('workflow');
  return saveWorkflow(tx, caller, id, old, { ifMatch, restoredFrom: revision });
}
