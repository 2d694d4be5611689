import type { AgentStatus } from '@muster/contracts';
import type { Database } from '@muster/database';
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
  return database.query<AgentRow>(
    { organizationId },
    `${selectAgents}
     WHERE a.organization_id = $1
       AND CASE WHEN $2::text IS NULL THEN a.status <> 'terminated' ELSE a.status = $2 END
       AND ($3::text IS NULL OR $3 = ANY(a.labels))
       AND ($4::text IS NULL OR strpos(lower(a.name), lower($4)) > 0)
       AND ($5::uuid IS NULL OR a.id > $5)
     ORDER BY a.id LIMIT $6`,
    [organizationId, status ?? null, label ?? null, q ?? null, page.after?.[0] ?? null, page.limit + 1],
    'list_agents',
  );
}
