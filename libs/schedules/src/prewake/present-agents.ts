import { type AgentRow, type ExpectedRun, explainAgent } from '@muster/machines';
import { type Agent, microsToUsd } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { findExpectedRuns, findNextExpectedRun } from './find-expected-runs';

/** Presents agents with the run that each expects next. */
export async function presentAgents(
  database: Database,
  organizationId: string,
  { rows, now }: { rows: AgentRow[]; now: Date },
): Promise<Agent[]> {
  const expected = await findExpectedRuns(database, organizationId, { agentIds: rows.map(({ id }) => id), now });
  return rows.map((row) => presentAgentWithRun(row, expected.get(row.id) ?? null, now));
}

/** Presents an agent within the transaction that changed it. */
export async function presentChangedAgent(tx: Transaction, row: AgentRow, now: Date): Promise<Agent> {
  return presentAgentWithRun(row, await findNextExpectedRun(tx, row.id, now), now);
}

function presentAgentWithRun(row: AgentRow, expected: ExpectedRun | null, now: Date): Agent {
  const { why, reason, stopAt } = explainAgent(row, expected, now);
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
    placement: row.placement,
    workerVersion: row.workerVersion,
    capabilities: row.capabilities,
    currentJobId: row.currentJobId,
    computeUsdPerHour: microsToUsd(row.computeMicrosPerHour),
    stopAt: stopAt?.toISOString() ?? null,
    why,
    reason,
    statusSince: row.statusSince.toISOString(),
    createdAt: row.createdAt.toISOString(),
  };
}
