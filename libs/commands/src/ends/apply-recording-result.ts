import type { CommandKind, RecordingKind, RecordingStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';

/** The status of a recording while a command of this kind is in progress. */
const waitsIn: Partial<Record<CommandKind, RecordingStatus>> = {
  start_recording: 'starting',
  stop_recording: 'stopping',
};

/** A worker's report about a recording: the keys of the files that it uploaded, and the kind of the recording. */
export interface RecordingOutput {
  video: string | null;
  events: string | null;
  kind: RecordingKind | null;
}

/** Parses a worker's report about a recording. Older workers record only videos and send the video's key as `key`. */
export function parseRecordingOutput(output: unknown): RecordingOutput {
  const report = (typeof output === 'object' && output !== null ? output : {}) as Record<string, unknown>;
  const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null);
  const events = textOrNull(report['events']);
  const kind = report['kind'];
  return {
    video: textOrNull(report['video']) ?? (events === null ? textOrNull(report['key']) : null),
    events,
    kind: kind === 'screen' || kind === 'browser' ? kind : null,
  };
}

const noReason = 'The worker gave no reason.';

interface EndedCommand {
  agentId: string;
  kind: CommandKind;
  recordingId: string | null;
  status: 'success' | 'failed';
  error: string | null;
}

/**
 * Applies the result of a command to its recording. A late result changes nothing, because the recording already has
 * another status.
 */
export function applyRecordingResult(
  tx: Transaction,
  { agentId, kind, recordingId, status, error }: EndedCommand,
  { video, events, kind: recorded }: RecordingOutput,
): void {
  if (!recordingId || !waitsIn[kind]) return;
  if (status === 'failed') {
    // If the start failed, the recording has failed, even if a stop command is in progress.
    const from: RecordingStatus[] = kind === 'start_recording' ? ['starting', 'stopping'] : ['stopping'];
    tx.deferStatement(
      `UPDATE recording SET status = 'failed', error = $3, ended_at = muster_now()
       WHERE id = $1 AND agent_id = $2 AND status = ANY($4)`,
      [recordingId, agentId, error || noReason, from],
      'recording_failed',
    );
  } else if (kind === 'start_recording') {
    tx.deferStatement(
      `UPDATE recording SET status = CASE status WHEN 'starting' THEN 'recording' ELSE status END, started_at = muster_now(),
         kind = COALESCE($3, kind)
       WHERE id = $1 AND agent_id = $2 AND status IN ('starting', 'stopping')`,
      [recordingId, agentId, recorded],
      'recording_started',
    );
  } else {
    tx.deferStatement(
      `UPDATE recording SET
         status = CASE WHEN COALESCE(f.video, f.events) IS NULL THEN 'failed' ELSE 'kept' END,
         artifact_id = f.video, events_artifact_id = f.events, ended_at = muster_now(), kind = COALESCE($5, kind),
         error = CASE WHEN COALESCE(f.video, f.events) IS NULL THEN 'The worker named no file that it had sent.' END
       FROM (SELECT (SELECT id FROM artifact WHERE storage_key = $3 AND agent_id = $2) AS video,
                    (SELECT id FROM artifact WHERE storage_key = $4 AND agent_id = $2) AS events) AS f
       WHERE recording.id = $1 AND recording.agent_id = $2 AND recording.status = 'stopping'`,
      [recordingId, agentId, video, events, recorded],
      'recording_kept',
    );
  }
}

/** Fails the recordings whose commands ended without a result of the worker. */
export function failRecordingsOfCommands(tx: Transaction, ended: EndedCommand[]): void {
  const waiting = ended.filter(({ kind, recordingId }) => recordingId && waitsIn[kind]);
  if (waiting.length === 0) return;
  tx.deferStatement(
    `UPDATE recording SET status = 'failed', error = ended.error, ended_at = muster_now()
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS ended (id, waits_in, error)
     WHERE recording.id = ended.id AND recording.status = ended.waits_in`,
    [
      waiting.map(({ recordingId }) => recordingId),
      waiting.map(({ kind }) => waitsIn[kind]),
      waiting.map(({ error }) => error || noReason),
    ],
    'fail_recordings',
  );
}

/**
 * Fails the recordings of the agent's previous boot, because a recording ends with the worker that makes it. A
 * recording that is stopping is left out: the worker may already have uploaded its file and be sending the result;
 * otherwise the new worker reports an error for the stop.
 */
export function failRecordingsOfOldBoot(tx: Transaction, agentRef: { organizationId: string; agentId: string }): void {
  tx.deferStatement(
    `UPDATE recording r SET status = 'failed', error = 'The worker was restarted while it recorded.', ended_at = muster_now()
     WHERE r.agent_id = $1 AND r.organization_id = $2
       AND (r.status = 'recording' OR r.status = 'starting' AND EXISTS (
         SELECT FROM agent_command c
         WHERE c.agent_id = $1 AND c.status = 'pending' AND c.kind = 'start_recording' AND c.taken_at IS NOT NULL
           AND c.payload->>'recordingId' = r.id::text))`,
    [agentRef.agentId, agentRef.organizationId],
    'fail_recordings_of_old_boot',
  );
}

/** Fails the unfinished recordings of a terminated agent. */
export function failRecordingsOfTerminated(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
): void {
  tx.deferStatement(
    `UPDATE recording SET status = 'failed', error = 'The agent was terminated.', ended_at = muster_now()
     WHERE agent_id = $1 AND organization_id = $2 AND status IN ('starting', 'recording', 'stopping')`,
    [agentRef.agentId, agentRef.organizationId],
  );
}
