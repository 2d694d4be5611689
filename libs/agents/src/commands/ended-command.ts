import type { AgentCommandEntity } from '@muster/database';

/** What of an ended command whoever waited for it wants to know. */
export interface EndedCommand extends Pick<
  AgentCommandEntity,
  'id' | 'organizationId' | 'agentId' | 'jobId' | 'kind' | 'error' | 'traceparent' | 'takenAt' | 'finishedAt'
> {
  recordingId: string | null;
  /** Of an autopilot's session. */
  sessionId: string | null;
  status: Exclude<AgentCommandEntity['status'], 'pending'>;
  code: AgentCommandEntity['errorCode'];
}

/** For the RETURNING of a statement that ends commands. */
export const endedColumns = `id, organization_id, agent_id, job_id, kind, traceparent, taken_at, finished_at,
  payload->>'recordingId' AS recording_id,
  CASE WHEN kind LIKE 'autopilot\\_%' THEN payload->>'sessionId' END AS session_id, status, error, error_code AS code`;

/** For the SET of such a statement: what was sealed was for the delivery, and goes with the command's end. */
export const forgetSealed = "payload = payload - 'sealed'";
