import type { AgentEntity, Database } from '@muster/database';

export type AttachableAgent = Pick<AgentEntity, 'id' | 'name' | 'status'>;

/** Lists the agents that a report can be about. */
export function listAttachableAgents(database: Database, organizationId: string): Promise<AttachableAgent[]> {
  return database.query<AttachableAgent>(
    { organizationId },
    `SELECT id, name, status FROM agent WHERE organization_id = $1 AND status <> 'terminated' ORDER BY name, id`,
    [organizationId],
  );
}
