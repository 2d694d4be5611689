import type { AgentCommandEntity } from '@muster/database';

/** What of an ended command whoever waited for it wants to know. */
export interface EndedCommand extends Pick<
  AgentCommandEntity,
  'id' | 'organizationId' | 'agentId' | 'jobId' | 'kind' | 'error'
> {
  recordingId: string | null;
  status: Exclude<AgentCommandEntity['status'], 'pending'>;
  code: AgentCommandEntity['errorCode'];
}

/** For the RETURNING of a statement that ends commands. */
export const endedColumns = `id, organization_id, agent_id, job_id, kind,
  payload->>'recordingId' AS recording_id, status, error, error_code AS code`;
