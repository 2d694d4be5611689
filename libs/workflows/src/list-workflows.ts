import { type Database, scanWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import type { WorkflowRow } from './workflow-row';

export type WorkflowSummaryRow = Omit<WorkflowRow, 'script' | 'steps'>;

export function listWorkflows(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string },
): Promise<WorkflowSummaryRow[]> {
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id > ${placed(page.after[0])}`);
  const looked = ['archived_at IS NULL'];
  if (q) looked.push(`strpos(lower(name), lower(${placed(q)})) > 0`);
  const limit = placed(page.limit + 1);
  const listed = scanWithin({ from: 'workflow', columns: 'id', within, filter: looked, order: 'id', limit });
  return database.query<WorkflowSummaryRow>(
    { organizationId },
    `SELECT w.id, w.name, w.description, w.max_cost_micros, w.workflow_pack_installation_id, w.revision, w.version,
            r.variables, w.created_at, w.updated_at, p.matches, p.scan_end
     FROM (${listed}) p JOIN workflow w ON w.id = p.id
     JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision ORDER BY w.id`,
    values,
  );
}
