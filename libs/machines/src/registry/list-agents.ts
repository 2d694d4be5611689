import type { AgentSort, AgentStatus } from '@muster/contracts';
import { type Database, containsIgnoringCaseSql, foldCaseSql, orderedListSql, parseListOrder } from '@muster/database';
import type { Page } from '@muster/platform';
import { type AgentRow, selectAgents } from './agent-row';

export interface AgentFilter {
  status?: AgentStatus;
  label?: string;
  q?: string;
  sort?: AgentSort;
}

/**
 * The sortable fields with their SQL. `last_seen` has no index, because each heartbeat would have to update the index.
 */
const values = {
  name: { value: foldCaseSql('name'), type: 'text' },
  status: { value: 'status', type: 'text' },
  lastSeen: { value: 'last_seen', type: 'timestamptz' },
} as const;

export const parseAgentOrder = (sort?: AgentSort) => parseListOrder(sort, values);

/**
 * Lists agents, by default in the order of their creation. Terminated agents are included only if the filter asks for
 * them.
 */
export function listAgents(
  database: Database,
  organizationId: string,
  { status, label, q, sort }: AgentFilter,
  page: Page,
): Promise<(AgentRow & { sortValue: string | null })[]> {
  const parameters: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${parameters.push(value)}`;
  const looked = [status ? `status = ${addParameter(status)}` : `status <> 'terminated'`];
  if (label) looked.push(`${addParameter(label)} = ANY(labels)`);
  if (q) looked.push(containsIgnoringCaseSql('name', addParameter(q)));
  const listing = { from: 'agent', within: ['organization_id = $1'], looked, page, addParameter };
  const { listed, order, sortValue } = orderedListSql(parseAgentOrder(sort), listing);
  return database.query<AgentRow & { sortValue: string | null }>(
    { organizationId },
    `SELECT agent.*, p.matches, p.scan_end, ${sortValue} AS sort_value FROM (${listed}) p
     CROSS JOIN LATERAL (${selectAgents} WHERE a.id = p.id) agent ORDER BY ${order}`,
    parameters,
  );
}
