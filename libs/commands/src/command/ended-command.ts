import type { AgentCommandEntity } from '@muster/database';

/** The fields of an ended command that are used by the code that waits for the command. */
export interface EndedCommand extends Pick<
  AgentCommandEntity,
  'id' | 'organizationId' | 'agentId' | 'jobId' | 'kind' | 'error' | 'traceparent' | 'takenAt' | 'finishedAt'
> {
  recordingId: string | null;
  /** The autopilot session that issued the command. */
  sessionId: string | null;
  status: Exclude<AgentCommandEntity['status'], 'pending'>;
  code: AgentCommandEntity['errorCode'];
}

/** The columns of `EndedCommand`, for the RETURNING clause of a statement that ends commands. */
export const endedColumns = `id, organization_id, agent_id, job_id, kind, traceparent, taken_at, finished_at,
  payload->>'recordingId' AS recording_id,
  CASE WHEN kind LIKE 'autopilot\\_%' THEN payload->>'sessionId' END AS session_id, status, error, error_code AS code`;

/**
 * SQL for the SET clause of a statement that ends commands: deletes the encrypted part of the payload, which only the
 * delivery needs.
 */
export const forgetSealed = "payload = payload - 'sealed'";
