import type { AgentEntity, Transaction } from '@muster/database';

/** The job or the autopilot session that already occupies the agent. */
export type AgentBusy = { jobId: string } | { sessionId: string };

/**
 * Assigns the agent to an autopilot session, so that the agent gets no jobs. The caller must hold the agent's lock.
 * Returns null on success, and otherwise the job or session that occupies the agent.
 */
export async function assignAgentToSession(
  tx: Transaction,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  sessionId: string,
): Promise<AgentBusy | null> {
  const assigned = await tx.execute(
    `UPDATE agent SET autopilot_session_id = $3, last_activity_at = muster_now(), last_activity = 'an autopilot session'
     WHERE id = $1 AND organization_id = $2 AND current_job_id IS NULL AND autopilot_session_id IS NULL`,
    [agentId, organizationId, sessionId],
    'assign_agent_to_session',
  );
  if (assigned > 0) return null;
  const [agent] = await tx.query<Pick<AgentEntity, 'currentJobId' | 'autopilotSessionId'>>(
    'SELECT current_job_id, autopilot_session_id FROM agent WHERE id = $1 AND organization_id = $2',
    [agentId, organizationId],
  );
  if (agent?.currentJobId) return { jobId: agent.currentJobId };
  return { sessionId: agent!.autopilotSessionId! };
}

/** Releases the agent from the autopilot session. */
export function releaseAgentOfSession(tx: Transaction, agentId: string, sessionId: string): void {
  tx.deferStatement(
    `UPDATE agent SET autopilot_session_id = NULL, last_activity_at = muster_now(), last_activity = 'an autopilot session'
     WHERE id = $1 AND autopilot_session_id = $2`,
    [agentId, sessionId],
    'release_agent_of_session',
  );
}
