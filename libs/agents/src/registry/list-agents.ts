import type { AgentStatus } from '@muster/contracts';
import { type Database, scanWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import { type AgentRow, selectAgents } from './agent-row';

export interface AgentFilter {
  status?: AgentStatus;
  label?: string;
  q?: string;
}

/** In the order in which they were made. Terminated ones only when asked for. */
export function listAgents(
  database: Database,
  organizationId: string,
  { status, label, q }: AgentFilter,
  page: Page,
): Promise<AgentRow[]> {
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id > ${placed(page.after[0])}`);
  const looked = [status ? `status = ${placed(status)}` : `status <> 'terminated'`];
  if (label) looked.push(`${placed(label)} = ANY(labels)`);
  if (q) looked.push(`strpos(lower(name), lower(${placed(q)})) > 0`);
  const limit = placed(page.limit + 1);
  const listed = scanWithin({ from: 'agent', columns: 'id', within, filter: looked, order: 'id', limit });
  return database.query<AgentRow>(
    { organizationId },
    `SELECT listed.*, p.matches, p.scan_end FROM (${listed}) p
     CROSS JOIN LATERAL (${selectAgents} WHERE a.id = p.id) listed ORDER BY listed.id`,
    values,
  );
}
