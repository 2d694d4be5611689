import { AppError, type RecordingKind, type RecordingStatus } from '@muster/contracts';
import type { RecordingEntity, Transaction } from '@muster/database';
import { loadAgent } from '../registry/agent-row';

interface RecordingOf {
  organizationId: string;
  agentId: string;
  recordingId: string;
}

/** Inserts a recording, in the transaction of the command that starts it. */
export function beginRecording(
  tx: Transaction,
  of: RecordingOf,
  { name, kind, startUrl }: { name?: string; kind?: RecordingKind; startUrl?: string },
): void {
  tx.defer(
    `INSERT INTO recording (id, organization_id, agent_id, name, kind, start_url) VALUES ($1, $2, $3, $4, $5, $6)`,
    [of.recordingId, of.organizationId, of.agentId, name ?? null, kind ?? null, startUrl ?? null],
    'begin_recording',
  );
}

/** Throws unless the agent has this recording and it is starting or recording. */
export async function requireGoingOn(tx: Transaction, of: RecordingOf): Promise<void> {
  await loadAgent(tx, of.organizationId, of.agentId, 'lock');
  const status = await statusOf(tx, of);
  if (status !== 'starting' && status !== 'recording') throw notGoingOn(status);
}

/**
 * Moves a recording to stopping, in the transaction of the command that stops it. Only one command stops it, so the
 * result of that command is the end.
 */
export async function endRecording(tx: Transaction, of: RecordingOf): Promise<void> {
  await loadAgent(tx, of.organizationId, of.agentId, 'lock');
  const moved = await tx.execute(
    `UPDATE recording SET status = 'stopping'
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND status IN ('starting', 'recording')`,
    [of.recordingId, of.agentId, of.organizationId],
    'end_recording',
  );
  if (moved === 0) throw notGoingOn(await statusOf(tx, of));
}

export function noSuchRecording(): AppError {
  return new AppError('not_found', { detail: 'There is no such recording.' });
}

async function statusOf(tx: Transaction, of: RecordingOf): Promise<RecordingStatus> {
  const [row] = await tx.query<Pick<RecordingEntity, 'status'>>(
    'SELECT status FROM recording WHERE id = $1 AND agent_id = $2 AND organization_id = $3',
    [of.recordingId, of.agentId, of.organizationId],
  );
  if (!row) throw noSuchRecording();
  return row.status;
}

function notGoingOn(recordingStatus: RecordingStatus): AppError {
  const detail =
    recordingStatus === 'stopping'
      ? 'The recording is already stopping.'
      : `The recording has already ended with the status ${recordingStatus}.`;
  return new AppError('conflict', { detail, extra: { recordingStatus } });
}
