import { type AgentRow, explainAgent } from '@muster/agents';
import type { Agent } from '@muster/contracts';

export function presentAgent(row: AgentRow, now: Date): Agent {
  const { why, stopAt } = explainAgent(row, now);
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    provider: row.provider,
    providerRef: row.providerRef,
    labels: row.labels,
    lastSeen: row.lastSeen?.toISOString() ?? null,
    lastActivityAt: row.lastActivityAt?.toISOString() ?? null,
    publicTunnelUrl: row.publicTunnelUrl,
    tunnelUrl: row.tunnelUrl,
    vmState: row.vmState,
    vmIp: row.vmIp,
    idleAutoStopExempt: row.idleAutoStopExempt,
    workerVersion: row.workerVersion,
    currentJobId: row.currentJobId,
    stopAt: stopAt?.toISOString() ?? null,
    why,
    createdAt: row.createdAt.toISOString(),
  };
}
