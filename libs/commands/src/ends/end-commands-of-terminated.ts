import type { LifecycleSource } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { failRecordingsOfTerminated } from './apply-recording-result';
import { type EndedCommand, endedColumns, forgetSealed } from '../command/ended-command';
import { recordEndedCommands } from './record-actions';

/**
 * Fails the pending commands and the recordings of an agent that was terminated. The run command is left out: it ends
 * with its run.
 */
export async function endCommandsOfTerminated(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  source: LifecycleSource,
): Promise<void> {
  const { organizationId, agentId } = agentRef;
  const ended = await tx.query<EndedCommand>(
    `UPDATE agent_command
     SET status = 'failed', error_code = 'agent_not_ready', error = 'The agent was terminated.', finished_at = muster_now(),
         next_push_at = NULL, ${forgetSealed}
     WHERE agent_id = $1 AND organization_id = $2 AND status = 'pending' AND kind <> 'run'
     RETURNING ${endedColumns}`,
    [agentId, organizationId],
  );
  recordEndedCommands(tx, ended, source);
  failRecordingsOfTerminated(tx, agentRef);
}
