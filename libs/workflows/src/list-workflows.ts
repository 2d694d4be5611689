import type { Database } from '@muster/database';
import type { Page } from '@muster/platform';
import type { WorkflowRow } from './workflow-row';

export type WorkflowSummaryRow = Omit<WorkflowRow, 'script' | 'steps'>;

export function listWorkflows(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string },
): Promise<WorkflowSummaryRow[]> {
  return database.query<WorkflowSummaryRow>(
    { organizationId },
    `SELECT w.id, w.name, w.description, w.max_cost_micros, w.revision, w.version, r.variables, w.created_at,
            w.updated_at
     FROM workflow w JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
     WHERE w.organization_id = $1 AND w.archived_at IS NULL
       AND ($2::uuid IS NULL OR w.id > $2)
       AND ($3::text IS NULL OR strpos(lower(w.name), lower($3)) > 0)
     ORDER BY w.id LIMIT $4`,
    [organizationId, page.after?.[0] ?? null, q ?? null, page.limit + 1],
  );
}
