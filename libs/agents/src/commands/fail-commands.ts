import type { ErrorCode } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { failRecordingsOf } from '../recordings/settle-recordings';
import { type EndedCommand, endedColumns } from './ended-command';
import { recordEnded } from './record-actions';

/** Ends a command that its agent will not end any more; false where it had ended already. */
export async function failCommand(
  database: Database,
  command: { id: string; organizationId: string },
  { code, error }: { code: ErrorCode | 'secret_missing'; error: string },
): Promise<boolean> {
  const { id, organizationId } = command;
  return database.transaction({ organizationId }, async (tx) => {
    const ended = await tx.query<EndedCommand>(
      `UPDATE agent_command
       SET status = 'failed', error_code = $3, error = $4, finished_at = now(), next_push_at = NULL
       WHERE id = $1 AND organization_id = $2 AND status = 'pending'
       RETURNING ${endedColumns}`,
      [id, organizationId, code, error],
      'fail_command',
    );
    failRecordingsOf(tx, ended);
    recordEnded(tx, ended, 'dispatcher');
    await enqueueFinished(tx, ended);
    return ended.length > 0;
  });
}

/** Fails what is past its deadline. Not runs: a run ends with its job. */
export async function failOverdueCommands(database: Database, limit = 200): Promise<number> {
  return database.transaction('system', async (tx) => {
    const ended = await tx.query<EndedCommand>(
      `UPDATE agent_command
       SET status = 'failed', error_code = 'execution_timeout', finished_at = now(), next_push_at = NULL,
           error = CASE WHEN taken_at IS NULL THEN 'The agent did not take it in time.'
                        ELSE 'The agent did not finish it in time.' END
       WHERE id IN (
         SELECT id FROM agent_command
         WHERE status = 'pending' AND deadline <= now() AND kind <> 'run'
         ORDER BY deadline LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING ${endedColumns}`,
      [limit],
      'fail_overdue_commands',
    );
    failRecordingsOf(tx, ended);
    recordEnded(tx, ended, 'watchdog');
    await enqueueFinished(tx, ended);
    return ended.length;
  });
}

/** A job that waits for a command learns that it is over; so does a machine that waits for the end of a deleted one. */
export async function enqueueFinished(tx: Transaction, ended: EndedCommand[]): Promise<void> {
  const awaited = ended.filter(({ jobId, kind }) => jobId !== null || kind === 'stop_job');
  await tx.enqueue(
    ...awaited.map(({ id }) => ({
      queue: 'dispatch' as const,
      name: 'command-finished' as const,
      payload: { commandId: id },
    })),
  );
}
