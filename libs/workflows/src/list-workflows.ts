import type { WorkflowSort } from '@muster/contracts';
import { type Database, containsIgnoringCaseSql, foldCaseSql, orderedListSql, parseListOrder } from '@muster/database';
import type { Page } from '@muster/platform';
import type { WorkflowRow } from './workflow-row';

export type WorkflowSummaryRow = Omit<WorkflowRow, 'script' | 'steps'>;

const values = {
  name: { value: foldCaseSql('name'), type: 'text' },
  updatedAt: { value: 'updated_at', type: 'timestamptz' },
} as const;

export const parseWorkflowOrder = (sort?: WorkflowSort) => parseListOrder(sort, values);

export function listWorkflows(
  database: Database,
  organizationId: string,
  { page, q, sort }: { page: Page; q?: string; sort?: WorkflowSort },
): Promise<(WorkflowSummaryRow & { sortValue: string | null })[]> {
  const parameters: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${parameters.push(value)}`;
  const filters = ['archived_at IS NULL'];
  if (q) filters.push(containsIgnoringCaseSql('name', addParameter(q)));
  const listOptions = { from: 'workflow', within: ['organization_id = $1'], looked: filters, page, addParameter };
  const { listed, order, sortValue } = orderedListSql(parseWorkflowOrder(sort), listOptions);
  return database.query<WorkflowSummaryRow & { sortValue: string | null }>(
    { organizationId },
    `SELECT w.id, w.name, w.description, w.max_cost_micros, w.workflow_pack_installation_id, w.revision, w.version,
            r.variables, w.created_at, w.updated_at, p.matches, p.scan_end, ${sortValue} AS sort_value
     FROM (${listed}) p JOIN workflow w ON w.id = p.id
     JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision ORDER BY ${order}`,
    parameters,
  );
}
