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
export const endedColumns = `id, organization_id AS "organizationId", agent_id AS "agentId", job_id AS "jobId", kind,
  payload->>'recordingId' AS "recordingId", status, error, error_code AS code`;
