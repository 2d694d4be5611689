import type { AgentEntity, Database, Transaction } from '@muster/database';
import { setAgentStatus } from '../life/set-agent-status';
import { appendTimeline } from '@muster/timeline';
import { decideMissingMachine, type Finding, isConfirmedFinding } from './decide-machines';
import type { MachineLocation } from './survey-location';

export interface MissingMachineOptions {
  confirmMs: number;
  /** Ends what else belongs to an agent that becomes terminated, in the same transaction. */
  onTerminated: (tx: Transaction, agentRef: { organizationId: string; agentId: string }) => Promise<void>;
}

/** Handles one agent whose provider does not have its machine. */
export function handleMissingMachine(
  database: Database,
  missing: { location: MachineLocation; agentId: string; listed: boolean },
  options: MissingMachineOptions,
): Promise<'none' | 'known' | 'found' | 'terminated' | 'offline'> {
  return database.transaction('system', (tx) => applyMissingMachineDecision(tx, missing, options));
}

async function applyMissingMachineDecision(
  tx: Transaction,
  { location, agentId, listed }: { location: MachineLocation; agentId: string; listed: boolean },
  { confirmMs, onTerminated }: MissingMachineOptions,
): Promise<'none' | 'known' | 'found' | 'terminated' | 'offline'> {
  const [agent] = await tx.query<
    Pick<AgentEntity, 'organizationId' | 'status'> & { lastSeenAgoMs: number | null; now: Date }
  >(
    `SELECT organization_id, status, muster_clock() AS now,
            extract(epoch FROM muster_now() - last_seen)::float8 * 1000 AS last_seen_ago_ms
     FROM agent WHERE id = $1 FOR UPDATE SKIP LOCKED`,
    [agentId],
    'reaper_agent',
  );
  const verdict = agent && decideMissingMachine(agent, { listed }, confirmMs);
  if (!verdict) return 'none';
  const { organizationId, now } = agent;
  const { to, reason } = verdict;
  const agentRef = { organizationId, agentId };
  const [finding] = await tx.query<Finding & { isNew: boolean }>(
    `INSERT INTO machine_finding AS f (kind, provider, place, ref, agent_id, reason) VALUES ('gone', $1, $2, $3, $5, $4)
     ON CONFLICT (kind, provider, place, ref) DO UPDATE SET last_seen_at = muster_now(), reason = excluded.reason
     RETURNING first_seen_at, acted_at, xmax = 0 AS is_new`,
    [location.provider, location.name, agentId, reason, agentId],
    'reaper_missed',
  );
  if (finding!.isNew) {
    const message = `${reason}; if the next checks confirm this, the agent becomes ${to}`;
    appendTimeline(tx, agentRef, [{ kind: 'provisioning', source: 'watchdog', level: 'warn', message }]);
    return 'found';
  }
  // The move to offline is made only once. When the machine is found again, the finding is deleted.
  const isRecorded = finding!.actedAt !== null && to === 'offline';
  if (isRecorded || !isConfirmedFinding({ ...finding!, actedAt: null }, now, confirmMs)) return 'known';
  await tx.execute(`UPDATE agent SET vm_state = 'gone', vm_ip = NULL, public_tunnel_url = NULL WHERE id = $1`, [
    agentId,
  ]);
  await setAgentStatus(tx, { ...agentRef, move: 'gone', to, source: 'watchdog', by: 'reaper', reason });
  appendTimeline(tx, agentRef, [
    { kind: 'provisioning', source: 'watchdog', level: 'warn', message: `${to}: ${reason}` },
  ]);
  await tx.execute(
    to === 'terminated'
      ? `DELETE FROM machine_finding WHERE kind = 'gone' AND ref = $1`
      : `UPDATE machine_finding SET acted_at = muster_now() WHERE kind = 'gone' AND ref = $1`,
    [agentId],
  );
  if (to === 'terminated') {
    await onTerminated(tx, agentRef);
    await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
  }
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  return to;
}
