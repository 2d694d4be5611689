import { AppError, notFoundError, type RecordingKind, type RecordingStatus } from '@muster/contracts';
import type { RecordingEntity, Transaction } from '@muster/database';
import { loadAgent } from '@muster/machines';

interface RecordingRef {
  organizationId: string;
  agentId: string;
  recordingId: string;
}

/** Inserts a recording. Call this in the transaction of the command that starts the recording. */
export function insertRecording(
  tx: Transaction,
  recordingRef: RecordingRef,
  { name, kind, startUrl }: { name?: string; kind?: RecordingKind; startUrl?: string },
): void {
  tx.deferStatement(
    `INSERT INTO recording (id, organization_id, agent_id, name, kind, start_url) VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      recordingRef.recordingId,
      recordingRef.organizationId,
      recordingRef.agentId,
      name ?? null,
      kind ?? null,
      startUrl ?? null,
    ],
    'begin_recording',
  );
}

/** Throws unless the recording belongs to the agent and is starting or recording. */
export async function requireActiveRecording(tx: Transaction, recordingRef: RecordingRef): Promise<void> {
  await loadAgent(tx, recordingRef.organizationId, recordingRef.agentId, 'lock');
  const status = await readRecordingStatus(tx, recordingRef);
  if (status !== 'starting' && status !== 'recording') throw recordingNotActiveError(status);
}

/**
 * Moves a recording to stopping. Call this in the transaction of the command that stops the recording. Only one command
 * can do so, and its result ends the recording.
 */
export async function markRecordingStopping(tx: Transaction, recordingRef: RecordingRef): Promise<void> {
  await loadAgent(tx, recordingRef.organizationId, recordingRef.agentId, 'lock');
  const moved = await tx.execute(
    `UPDATE recording SET status = 'stopping'
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND status IN ('starting', 'recording')`,
    [recordingRef.recordingId, recordingRef.agentId, recordingRef.organizationId],
    'end_recording',
  );
  if (moved === 0) throw recordingNotActiveError(await readRecordingStatus(tx, recordingRef));
}

async function readRecordingStatus(tx: Transaction, recordingRef: RecordingRef): Promise<RecordingStatus> {
  const [row] = await tx.query<Pick<RecordingEntity, 'status'>>(
    'SELECT status FROM recording WHERE id = $1 AND agent_id = $2 AND organization_id = $3',
    [recordingRef.recordingId, recordingRef.agentId, recordingRef.organizationId],
  );
  if (!row) throw notFoundError('recording');
  return row.status;
}

function recordingNotActiveError(recordingStatus: RecordingStatus): AppError {
  const detail =
    recordingStatus === 'stopping'
      ? 'The recording is already stopping.'
      : `The recording has already ended with the status ${recordingStatus}.`;
  return new AppError('conflict', { detail, extra: { recordingStatus } });
}
