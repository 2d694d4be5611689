import { type AgentProvider, type AgentStatus, AppError, type MicroUsd } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { silentSince, workColumns } from '../lifecycle/stop-idle-agents';

export interface AgentRow {
  id: string;
  organizationId: string;
  name: string;
  status: AgentStatus;
  statusSince: Date;
  statusSource: string;
  statusReason: string;
  provider: AgentProvider;
  providerRef: string | null;
  labels: string[];
  lastSeen: Date | null;
  lastActivityAt: Date | null;
  publicTunnelUrl: string | null;
  tunnelUrl: string | null;
  vmState: string | null;
  vmIp: string | null;
  idleAutoStopExempt: boolean;
  workerVersion: string | null;
  currentJobId: string | null;
  drain: string | null;
  createdAt: Date;
  onSince: Date | null;
  silentSince: Date | null;
  lastActivity: string | null;
  idleStopFailedAt: Date | null;
  running: boolean;
  queued: boolean;
  commands: boolean;
  waking: boolean;
  autoStopEnabled: boolean;
  idleStopMinutes: number;
  /** What its machine costs: as its configuration says, else as the organization's settings do. */
  computeMicrosPerHour: MicroUsd;
}

/** Rows of this shape, whatever follows: a WHERE over `a`, an order, a limit. */
export const selectAgents = `
  SELECT a.id, a.organization_id AS "organizationId", a.name, a.status, a.status_since AS "statusSince",
         a.status_source AS "statusSource", a.status_reason AS "statusReason", a.provider,
         a.provider_ref AS "providerRef", a.labels, a.last_seen AS "lastSeen",
         a.last_activity_at AS "lastActivityAt", a.public_tunnel_url AS "publicTunnelUrl",
         a.tunnel_url AS "tunnelUrl", a.vm_state AS "vmState", a.vm_ip AS "vmIp",
         a.idle_auto_stop_exempt AS "idleAutoStopExempt", a.worker_version AS "workerVersion",
         a.current_job_id AS "currentJobId", a.drain, a.created_at AS "createdAt",
         a.on_since AS "onSince", a.last_activity AS "lastActivity", a.idle_stop_failed_at AS "idleStopFailedAt",
         ${silentSince} AS "silentSince", ${workColumns},
         s.auto_stop_enabled AS "autoStopEnabled", s.idle_stop_minutes AS "idleStopMinutes",
         COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour) AS "computeMicrosPerHour"
  FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id`;

const one = `${selectAgents} WHERE a.id = $1 AND a.organization_id = $2`;

export async function findAgent(database: Database, organizationId: string, id: string): Promise<AgentRow> {
  const [agent] = await database.query<AgentRow>({ organizationId }, one, [id, organizationId], 'find_agent');
  if (!agent) throw noSuchAgent();
  return agent;
}

/** As a transaction sees it; with a lock, nobody else changes it until the end. */
export async function loadAgent(tx: Transaction, organizationId: string, id: string, lock?: 'lock'): Promise<AgentRow> {
  // By itself: what is read of its work by a statement that waited for the lock would be from before the wait.
  if (lock) tx.defer('SELECT FROM agent WHERE id = $1 AND organization_id = $2 FOR UPDATE', [id, organizationId]);
  const [agent] = await tx.query<AgentRow>(one, [id, organizationId], 'find_agent');
  if (!agent) throw noSuchAgent();
  return agent;
}

export function noSuchAgent(): AppError {
  return new AppError('agent_not_found', { detail: 'There is no such agent.' });
}
