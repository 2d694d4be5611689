import type { AgentEntity, Transaction } from '@muster/database';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';

const maxAgents = 1000;

/**
 * Enqueues the organization's agents that have undispatched jobs. Called after a change that may let these jobs start;
 * otherwise only the next sweep would start them. Jobs without an agent are placed, too.
 */
export async function enqueueWaitingAgents(tx: Transaction, organizationId: string): Promise<void> {
  const agents = await tx.query<Pick<AgentEntity, 'id'>>(
    `SELECT a.id FROM agent a WHERE a.organization_id = $1 AND EXISTS (
       SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued' AND j.command_id IS NULL) LIMIT $2`,
    [organizationId, maxAgents],
  );
  await tx.enqueue(
    ...agents.map(({ id }) => ({
      queue: 'dispatch' as const,
      name: 'dispatch-agent' as const,
      payload: { agentId: id },
    })),
  );
  enqueuePlacementOfJobs(tx, organizationId);
}
