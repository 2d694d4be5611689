import type { AgentCommandEntity, Transaction } from '@muster/database';

/**
 * Continues the work of an agent that is reachable again: makes its waiting commands due now and enqueues a dispatch.
 */
export async function resumeWorkOfAgent(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
): Promise<void> {
  const commands = await tx.query<Pick<AgentCommandEntity, 'id'>>(
    `UPDATE agent_command SET next_push_at = muster_now()
     WHERE id IN (
       SELECT id FROM agent_command
       WHERE agent_id = $1 AND organization_id = $2 AND status = 'pending' AND taken_at IS NULL
       ORDER BY id LIMIT 20)
     RETURNING id`,
    [agentRef.agentId, agentRef.organizationId],
    'resume_commands',
  );
  await tx.enqueue(
    { queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: agentRef.agentId } },
    ...commands.map(({ id }) => ({
      queue: 'dispatch' as const,
      name: 'deliver-command' as const,
      payload: { commandId: id },
    })),
  );
  tx.notify('command', agentRef.agentId);
}
