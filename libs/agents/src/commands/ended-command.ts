import type { CommandKind } from '@muster/contracts';

/** What of an ended command whoever waited for it wants to know. */
export interface EndedCommand {
  id: string;
  organizationId: string;
  agentId: string;
  jobId: string | null;
  kind: CommandKind;
  recordingId: string | null;
  status: 'success' | 'failed';
  error: string | null;
  code: string | null;
}

/** For the RETURNING of a statement that ends commands. */
export const endedColumns = `id, organization_id, agent_id, job_id, kind,
  payload->>'recordingId' AS recording_id, status, error, error_code AS code`;
