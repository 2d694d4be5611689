import type { ErrorCode } from '@muster/contracts';
import type { AgentCommandEntity, Database, Transaction } from '@muster/database';
import { firstCursor, Round, sweepRows, type SweepCounts, type TimedCursor } from '@muster/platform';
import { failRecordingsOfCommands } from './apply-recording-result';
import { type EndedCommand, endedColumns, forgetSealed } from '../command/ended-command';
import { recordEndedCommands } from './record-actions';

/** Ends a pending command as failed. Returns false if the command had already ended. */
export async function failCommand(
  database: Database,
  command: { id: string; organizationId: string },
  { code, error }: { code: ErrorCode | 'secret_missing'; error: string },
): Promise<boolean> {
  const { id, organizationId } = command;
  return database.transaction({ organizationId }, async (tx) => {
    const ended = await tx.query<EndedCommand>(
      `UPDATE agent_command
       SET status = 'failed', error_code = $3, error = $4, finished_at = muster_now(), next_push_at = NULL,
           ${forgetSealed}
       WHERE id = $1 AND organization_id = $2 AND status = 'pending'
       RETURNING ${endedColumns}`,
      [id, organizationId, code, error],
      'fail_command',
    );
    failRecordingsOfCommands(tx, ended);
    recordEndedCommands(tx, ended, 'dispatcher');
    await enqueueFinishedCommands(tx, ended);
    return ended.length > 0;
  });
}

/** Fails commands past their deadlines. Run commands are left out, because a run ends with its job. */
export function failOverdueCommands(
  database: Database,
  round = new Round('fail overdue commands'),
): Promise<SweepCounts<'failed'>> {
  return sweepRows(round, {
    name: 'commands',
    outcomes: ['failed'],
    atOnce: 8,
    candidates: (after: TimedCursor | null, limit) =>
      database.query<TimedCursor & object>(
        'system',
        `SELECT id, deadline::text AS at FROM agent_command
         WHERE status = 'pending' AND deadline <= muster_now() AND kind <> 'run' AND (deadline, id) > ($1::timestamptz, $2::uuid)
         ORDER BY deadline, id LIMIT $3`,
        [(after ?? firstCursor).at, (after ?? firstCursor).id, limit],
        'overdue_commands',
      ),
    settle: async ({ id }) =>
      (await database.transaction('system', (tx) => failCommandIfOverdue(tx, id))) ? 'failed' : null,
    rowOf: ({ id }) => `command ${id}`,
  });
}

/**
 * Reads the command again under its lock, because its result may have arrived or another replica may be processing it.
 */
async function failCommandIfOverdue(tx: Transaction, id: string): Promise<boolean> {
  const ended = await tx.query<EndedCommand>(
    `UPDATE agent_command
     SET status = 'failed', error_code = 'execution_timeout', finished_at = muster_now(), next_push_at = NULL,
         ${forgetSealed}, error = CASE WHEN taken_at IS NULL THEN 'The agent did not accept the command in time.'
                      ELSE 'The agent did not finish the command in time.' END
     WHERE id = (
       SELECT id FROM agent_command
       WHERE id = $1 AND status = 'pending' AND deadline <= muster_now() FOR UPDATE SKIP LOCKED)
     RETURNING ${endedColumns}`,
    [id],
    'fail_overdue_command',
  );
  failRecordingsOfCommands(tx, ended);
  recordEndedCommands(tx, ended, 'watchdog');
  await enqueueFinishedCommands(tx, ended);
  return ended.length > 0;
}

/**
 * Enqueues the work that waits for an ended command: a message for the command's job, for the machine on which a
 * deleted job was being stopped, or for the command's autopilot session.
 */
export async function enqueueFinishedCommands(tx: Transaction, ended: EndedCommand[]): Promise<void> {
  const awaited = ended.filter(({ jobId, kind }) => jobId !== null || kind === 'stop_job');
  await tx.enqueue(
    ...awaited.map(({ id }) => ({
      queue: 'dispatch' as const,
      name: 'command-finished' as const,
      payload: { commandId: id },
    })),
    ...ended.flatMap(({ sessionId }) =>
      sessionId ? [{ queue: 'autopilot' as const, name: 'advance-session' as const, payload: { sessionId } }] : [],
    ),
  );
}

/**
 * Fails the undelivered answers of an ended run, so that they are never delivered, and deletes their encrypted
 * payloads.
 */
export function withdrawAnswerCommands(tx: Transaction, jobId: string): void {
  tx.deferStatement(
    `UPDATE agent_command SET status = 'failed', error = 'The run has ended.', finished_at = muster_now(),
       next_push_at = NULL, ${forgetSealed}
     WHERE job_id = $1 AND kind = 'answer' AND status = 'pending'`,
    [jobId],
    'withdraw_answers',
  );
}

/**
 * Fails a command that the agent has not acknowledged. Returns false if the command was acknowledged or has ended. If
 * the agent is off, a withdrawn command certainly never runs.
 */
export async function withdrawCommand(tx: Transaction, id: AgentCommandEntity['id'], error: string): Promise<boolean> {
  const withdrawn = await tx.execute(
    `UPDATE agent_command SET status = 'failed', error = $2, finished_at = muster_now(), next_push_at = NULL
     WHERE id = $1 AND status = 'pending' AND taken_at IS NULL`,
    [id, error],
    'withdraw_command',
  );
  return withdrawn > 0;
}
