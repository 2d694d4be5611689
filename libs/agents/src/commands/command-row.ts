import type { CommandKind } from '@muster/contracts';

/** A command as it is delivered. */
export interface CommandRow {
  id: string;
  organizationId: string;
  agentId: string;
  jobId: string | null;
  kind: CommandKind;
  payload: Record<string, unknown>;
  env: Record<string, string>;
  vaultKeys: string[];
  deadline: Date;
  requestId: string | null;
  traceparent: string | null;
}

export const commandColumns = `
  c.id, c.organization_id, c.agent_id, c.job_id, c.kind, c.payload, c.env,
  c.vault_keys, c.deadline, c.request_id, c.traceparent`;
