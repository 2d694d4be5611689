import { audit, type Principal } from '@muster/access';
import { loadAgent } from '@muster/machines';
import { AppError, invalidFieldError, type VideoAnalyzeBody } from '@muster/contracts';
import type { RecordingEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';

/** Records the analysis of a recording and enqueues its first step. Each step is a separate message. */
export async function startAnalysis(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { recordingId, uploadKey, name, hint }: VideoAnalyzeBody,
): Promise<{ id: string }> {
  const { organizationId } = caller;
  if ((recordingId === undefined) === (uploadKey === undefined)) {
    throw invalidFieldError('recordingId', 'exactly one of recordingId and uploadKey is required');
  }
  await loadAgent(tx, organizationId, agentId);
  if (recordingId) await requireStoredRecording(tx, organizationId, recordingId);
  else await requireKnownUpload(tx, organizationId, uploadKey!);
  const id = newId();
  tx.deferStatement(
    `INSERT INTO video_analysis (id, organization_id, agent_id, recording_id, upload_key, name, hint, actor)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      id,
      organizationId,
      agentId,
      recordingId ?? null,
      uploadKey ?? null,
      name ?? null,
      hint ?? null,
      JSON.stringify(caller),
    ],
  );
  audit(tx, caller, {
    action: 'agent.video_analyze',
    target: { type: 'agent', id: agentId },
    changes: { analysisId: id, ...(recordingId ? { recordingId } : { uploadKey }) },
  });
  await tx.enqueue({ queue: 'dispatch', name: 'analyze-video', payload: { analysisId: id } });
  return { id };
}

async function requireStoredRecording(tx: Transaction, organizationId: string, recordingId: string): Promise<void> {
  const [recording] = await tx.query<Pick<RecordingEntity, 'status'>>(
    'SELECT status FROM recording WHERE id = $1 AND organization_id = $2',
    [recordingId, organizationId],
  );
  if (!recording) throw new AppError('recording_not_found');
  const { status } = recording;
  if (status === 'kept') return;
  throw new AppError('conflict', {
    detail: `The recording has the status ${status}. Only a recording with the status kept can be analyzed. Wait until it is saved, or choose another one.`,
    extra: { recordingStatus: status },
  });
}

/**
 * Throws unless the key belongs to a requested upload, or to a file that one of the organization's machines uploaded.
 */
async function requireKnownUpload(tx: Transaction, organizationId: string, key: string): Promise<void> {
  const rows = await tx.query(
    `SELECT upload_key FROM film_upload WHERE upload_key = $1 AND organization_id = $2
     UNION ALL SELECT storage_key FROM artifact WHERE storage_key = $1 AND organization_id = $2`,
    [key, organizationId],
  );
  if (rows.length === 0)
    throw new AppError('recording_not_found', {
      detail: 'There is no upload with this key. Request one with POST /api/uploads.',
    });
}
