import type { AgentCommandEntity } from '@muster/database';

/** A command as it is delivered. */
export type CommandRow = Pick<
  AgentCommandEntity,
  | 'id'
  | 'organizationId'
  | 'agentId'
  | 'jobId'
  | 'kind'
  | 'payload'
  | 'env'
  | 'vaultKeys'
  | 'deadline'
  | 'requestId'
  | 'traceparent'
>;

export const commandColumns = `
  c.id, c.organization_id, c.agent_id, c.job_id, c.kind, c.payload, c.env,
  c.vault_keys, c.deadline, c.request_id, c.traceparent`;
