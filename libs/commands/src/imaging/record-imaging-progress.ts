import { type CommandProgressBody, type CommandReceipt, notFoundError } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import { type CommandRef, finished } from '../ends/receive-result';
import { appendTimeline } from '@muster/timeline';
import { imagingKinds } from '../command/command-kinds';

/**
 * Records the progress of an imaging command on the agent's timeline. Only the numbers come from the worker and the
 * text from the service, so the entry contains no data of a patient.
 */
export function recordImagingProgress(
  database: Database,
  { organizationId, agentId, commandId }: CommandRef,
  { done, failed, total }: CommandProgressBody,
): Promise<CommandReceipt> {
  return database.transaction({ organizationId }, async (tx) => {
    const [command] = await tx.query<Pick<AgentCommandEntity, 'kind' | 'status'>>(
      `SELECT kind, status FROM agent_command
       WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = ANY($4)`,
      [commandId, agentId, organizationId, imagingKinds],
      'progress_of_command',
    );
    if (!command) throw notFoundError('command');
    if (command.status !== 'pending') return finished;
    const counts = failed
      ? `${done} of ${total} images are done, ${failed} failed`
      : `${done} of ${total} images are done`;
    const data = { commandId, action: command.kind, done, failed, total };
    const entry = { kind: 'provisioning' as const, source: 'worker', message: `${command.kind}: ${counts}`, data };
    appendTimeline(tx, { organizationId, agentId }, [entry]);
    return { accepted: true };
  });
}
