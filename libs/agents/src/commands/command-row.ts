import type { AgentCommandEntity, AgentEntity } from '@muster/database';
import { workerKeysOf } from '../agent-keys';

/** So long a command is left to its push alone, where the agent has a tunnel that may work. */
export const pushAloneMs = 500;

export type DeliveryOutcome =
  | 'taken'
  | 'known'
  | 'busy'
  | 'left to the poll'
  | 'unreachable'
  | 'over'
  | 'secret_missing'
  /** Its secrets cannot be opened. */
  | 'sealed'
  /** Somebody else pushes it at this moment, or its next push is not due yet. */
  | 'not due';

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

/** Whoever pushes a command has claimed it for as long as a push may last. */
export const nextPushAfterClaim = `muster_now() + interval '15 seconds'`;

/** Where an agent's commands are pushed to, and the keys that its worker may have. */
export interface PushFacts extends Pick<AgentEntity, 'unreachableTunnel' | 'bootId' | 'seenFrom' | 'serviceUrl'> {
  agentStatus: AgentEntity['status'];
  tunnelUrl: string | null;
  workerKeys: string[];
}

/** For a statement over agent a. */
export const pushColumns = `a.status AS agent_status, COALESCE(a.public_tunnel_url, a.tunnel_url) AS tunnel_url,
  a.unreachable_tunnel, a.boot_id, a.seen_from, a.service_url, ${workerKeysOf('a')} AS worker_keys`;
