import type { AgentCommandEntity, AgentEntity } from '@muster/database';
import { workerKeysSql } from '@muster/machines';

/**
 * Milliseconds for which a command is left to its push before a poll may deliver it. Applies to agents with a tunnel
 * that may work.
 */
export const pushAloneMs = 500;

export type DeliveryOutcome =
  | 'taken'
  | 'known'
  | 'busy'
  | 'left to the poll'
  | 'unreachable'
  | 'over'
  | 'secret_missing'
  /** The result for a command whose secrets cannot be decrypted. */
  | 'sealed'
  /** The result for a command that another process is pushing, or whose next push is not due yet. */
  | 'not due';

/** The columns of a command that a delivery needs. */
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
  | 'secretAliases'
  | 'deadline'
  | 'requestId'
  | 'traceparent'
>;

export const commandColumns = `
  c.id, c.organization_id, c.agent_id, c.job_id, c.kind, c.payload, c.env,
  c.vault_keys, c.secret_aliases, c.deadline, c.request_id, c.traceparent`;

/** SQL: the time of the next push of a command that is being leased. It is later than a push can end. */
export const nextPushAfterLease = `muster_now() + interval '15 seconds'`;

/** The address to which an agent's commands are pushed, and the keys that its worker may be using. */
export interface PushFacts extends Pick<AgentEntity, 'unreachableTunnel' | 'bootId' | 'seenFrom' | 'serviceUrl'> {
  agentStatus: AgentEntity['status'];
  tunnelUrl: string | null;
  workerKeys: string[];
}

/** The columns of `PushFacts` for a statement with `agent a`. */
export const pushColumns = `a.status AS agent_status, COALESCE(a.public_tunnel_url, a.tunnel_url) AS tunnel_url,
  a.unreachable_tunnel, a.boot_id, a.seen_from, a.service_url, ${workerKeysSql('a')} AS worker_keys`;
