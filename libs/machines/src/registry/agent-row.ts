import { type MicroUsd, agentNotFoundError } from '@muster/contracts';
import type { AgentEntity, Database, OrganizationSettingsEntity, Transaction } from '@muster/database';
import { gapsColumn, silentSince, workColumns } from '../idle/stop-idle-agents';

export interface AgentRow
  extends
    Pick<
      AgentEntity,
      | 'id'
      | 'organizationId'
      | 'name'
      | 'status'
      | 'statusSince'
      | 'statusSource'
      | 'statusReason'
      | 'provider'
      | 'providerRef'
      | 'labels'
      | 'lastSeen'
      | 'lastActivityAt'
      | 'publicTunnelUrl'
      | 'tunnelUrl'
      | 'vmState'
      | 'vmIp'
      | 'idleAutoStopExempt'
      | 'placement'
      | 'workerVersion'
      | 'capabilities'
      | 'currentJobId'
      | 'drain'
      | 'createdAt'
      | 'onSince'
      | 'lastActivity'
      | 'idleStopFailedAt'
      | 'bootMs'
      | 'autopilotSessionId'
    >,
    Pick<OrganizationSettingsEntity, 'autoStopEnabled' | 'idleStopMinutes' | 'idleStopPolicy' | 'prewake'> {
  gaps: number[] | null;
  silentSince: Date | null;
  running: boolean;
  queued: boolean;
  commands: boolean;
  waking: boolean;
  /**
   * Price of the agent's machine per hour: from the agent's own setting, otherwise from the organization's settings.
   */
  computeMicrosPerHour: MicroUsd;
}

/** SELECT statement for `AgentRow`s; the caller can add a WHERE clause over `a`, an order and a limit. */
export const selectAgents = `
  SELECT a.id, a.organization_id, a.name, a.status, a.status_since, a.status_source, a.status_reason, a.provider,
         a.provider_ref, a.labels, a.last_seen, a.last_activity_at, a.public_tunnel_url, a.tunnel_url, a.vm_state,
         a.vm_ip, a.idle_auto_stop_exempt, a.placement, a.worker_version, a.capabilities, a.current_job_id, a.drain, a.created_at, a.on_since,
         a.last_activity, a.idle_stop_failed_at, a.boot_ms, ${silentSince} AS silent_since, ${workColumns},
         s.auto_stop_enabled, s.idle_stop_minutes, s.idle_stop_policy, s.prewake, ${gapsColumn},
         COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour) AS compute_micros_per_hour
  FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id`;

const one = `${selectAgents} WHERE a.id = $1 AND a.organization_id = $2`;

export async function findAgent(database: Database, organizationId: string, id: string): Promise<AgentRow> {
  const [agent] = await database.query<AgentRow>({ organizationId }, one, [id, organizationId], 'find_agent');
  if (!agent) throw agentNotFoundError();
  return agent;
}

/**
 * Reads the agent within the transaction. With `lock`, no other transaction can change the agent's row until this one
 * ends. `lock_beside_launches` does the same but lets other transactions insert jobs of the agent. A launch that holds
 * the organization's launch lock must check the agent's foreign key; so a transaction that takes the launch lock after
 * the agent's lock must not block that check.
 */
export async function loadAgent(
  tx: Transaction,
  organizationId: string,
  id: string,
  lock?: 'lock' | 'lock_beside_launches',
): Promise<AgentRow> {
  // The lock is a separate statement. A SELECT that waits for the lock itself would return the agent's work as it was
  // before the wait.
  const strength = lock === 'lock' ? 'UPDATE' : 'NO KEY UPDATE';
  if (lock)
    tx.deferStatement(`SELECT FROM agent WHERE id = $1 AND organization_id = $2 FOR ${strength}`, [id, organizationId]);
  const [agent] = await tx.query<AgentRow>(one, [id, organizationId], 'find_agent');
  if (!agent) throw agentNotFoundError();
  return agent;
}
