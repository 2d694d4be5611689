import {
  AppError,
  type CommandReceipt,
  type CommandResultBody,
  invalidFieldError,
  notFoundError,
} from '@muster/contracts';
import type { Database } from '@muster/database';
import { markAgentActiveSql } from '@muster/machines';
import { applyRecordingResult, parseRecordingOutput } from './apply-recording-result';
import { type EndedCommand, endedColumns, forgetSealed } from '../command/ended-command';
import { enqueueFinishedCommands } from './fail-commands';
import { recordEndedCommands } from './record-actions';

export interface CommandRef {
  organizationId: string;
  agentId: string;
  commandId: string;
}

const maxOutputBytes = 4 * 1024 * 1024;
export const finished: CommandReceipt = { accepted: false, reason: 'already finished' };

/** Records that the worker has received the command, so that the command is not delivered again. */
export async function acknowledgeCommand(database: Database, commandRef: CommandRef): Promise<CommandReceipt> {
  const { organizationId, agentId, commandId } = commandRef;
  const [row] = await database.query<{ taken: boolean }>(
    { organizationId },
    `WITH ack AS (
       UPDATE agent_command SET taken_at = COALESCE(taken_at, muster_now()), next_push_at = NULL, push_error = NULL
       WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND status = 'pending'
       RETURNING id)
     SELECT EXISTS (SELECT FROM ack) AS taken
     FROM agent_command WHERE id = $1 AND agent_id = $2 AND organization_id = $3`,
    [commandId, agentId, organizationId],
    'acknowledge_command',
  );
  if (!row) throw notFoundError('command');
  return row.taken ? { accepted: true } : finished;
}

/**
 * Stores the output that a command's code has printed so far and notifies waiting requests. The command's result
 * replaces this output later.
 */
export async function storeCommandOutput(
  database: Database,
  commandRef: CommandRef,
  output: string,
): Promise<CommandReceipt> {
  const { organizationId, agentId, commandId } = commandRef;
  return database.transaction({ organizationId }, async (tx) => {
    const [row] = await tx.query<{ stored: boolean }>(
      `WITH stored AS (
         UPDATE agent_command SET output = $4
         WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND status = 'pending'
           AND kind IN ('snippet', 'function', 'builder')
         RETURNING id)
       SELECT EXISTS (SELECT FROM stored) AS stored
       FROM agent_command WHERE id = $1 AND agent_id = $2 AND organization_id = $3`,
      [commandId, agentId, organizationId, output],
      'receive_output',
    );
    if (!row) throw notFoundError('command');
    if (!row.stored) return finished;
    tx.notify('command', agentId);
    return { accepted: true };
  });
}

/** SQL that records the first result of the command $1 as activity of the agent. */
const resultActivity = markAgentActiveSql({
  agentId: '$2',
  organizationId: '$3',
  activity: 'a command’s result',
  condition: `EXISTS (SELECT FROM agent_command WHERE id = $1 AND agent_id = $2 AND status = 'pending')`,
});

/** Stores the result of a command. Only the first result of a command is accepted. */
export async function storeCommandResult(
  database: Database,
  commandRef: CommandRef,
  { status, output, error, code, exitCode }: CommandResultBody,
): Promise<CommandReceipt> {
  const { organizationId, agentId, commandId } = commandRef;
  const text = outputToText(output);
  return database.transaction({ organizationId }, async (tx) => {
    const ended = await tx.query<EndedCommand>(
      `WITH active AS (
         ${resultActivity})
       UPDATE agent_command
       SET status = $4, output = $5, error = $6, error_code = $7, exit_code = $8, finished_at = muster_now(),
           taken_at = COALESCE(taken_at, muster_now()), next_push_at = NULL, ${forgetSealed}
       WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND status = 'pending'
       RETURNING ${endedColumns}`,
      [
        commandId,
        agentId,
        organizationId,
        status,
        text,
        error ?? null,
        status === 'failed' ? code || null : null,
        exitCode ?? null,
      ],
      'receive_result',
    );
    if (ended.length === 0) {
      const existing = await tx.query(
        'SELECT FROM agent_command WHERE id = $1 AND agent_id = $2 AND organization_id = $3',
        [commandId, agentId, organizationId],
      );
      if (existing.length === 0) throw notFoundError('command');
      return finished;
    }
    applyRecordingResult(tx, ended[0]!, parseRecordingOutput(output));
    recordEndedCommands(tx, ended, 'worker');
    await enqueueFinishedCommands(tx, ended);
    tx.notify('command', agentId);
    return { accepted: true };
  });
}

function outputToText(output: unknown): string | null {
  if (output === undefined || output === null) return null;
  if (typeof output !== 'string' && (typeof output !== 'object' || Array.isArray(output))) {
    const message = 'output must be a string or a JSON object';
    throw invalidFieldError('output', message, message);
  }
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (Buffer.byteLength(text) > maxOutputBytes) {
    throw new AppError('payload_too_large', { detail: 'The output is larger than 4 MiB. Send only a part of it.' });
  }
  return text;
}
