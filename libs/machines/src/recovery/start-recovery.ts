import { type Actor, audit } from '@muster/access';
import type { AgentStatus } from '@muster/contracts';
import type { AgentEntity, AgentRecoveryEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { appendTimeline } from '@muster/timeline';
import {
  decideRecovery,
  type RecoveryDecision,
  type RecoveryFacts,
  type RecoveryStep,
  stepLabels,
} from './decide-recovery';

interface AgentRef {
  organizationId: string;
  agentId: string;
}

export interface LockedAgent extends Omit<RecoveryFacts, 'triedAt'>, Pick<AgentEntity, 'organizationId' | 'name'> {
  now: Date;
}

/** SQL interval: a run whose last report is older than this does not count as a run that reports. */
const runSilentAfter = '2 minutes';

/**
 * Decides under the agent's lock whether a recovery step is due, and records the attempt, so that several messages for
 * the same agent cause only one attempt. The caller makes the attempt in the same transaction.
 */
export async function startRecovery(
  tx: Transaction,
  agentId: string,
): Promise<{ agent: LockedAgent; decision: RecoveryDecision }> {
  const agent = await lockAgentAndReadRecoveryFacts(tx, agentId);
  const decision = decideRecovery(agent, agent.now);
  const { step, reason } = decision;
  const agentRef = { organizationId: agent.organizationId, agentId };
  if (step) await recordRecoveryAttempt(tx, agentRef, { step, reason, status: agent.status });
  return { agent, decision };
}

async function lockAgentAndReadRecoveryFacts(tx: Transaction, agentId: string): Promise<RecoveryFacts & LockedAgent> {
  await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId], 'lock_agent_to_recover');
  const [agent] = await tx.query<LockedAgent>(
    `SELECT a.organization_id, a.name, a.status, a.provider, a.recovery_checks AS unhealthy_checks,
            a.recovery_step AS last, muster_clock() AS now,
            EXISTS (SELECT FROM job j
                    WHERE j.agent_id = a.id AND j.status = 'running'
                      AND GREATEST(j.started_at, j.last_heartbeat_at, j.last_progress_at)
                          > muster_now() - interval '${runSilentAfter}') AS run_reports
     FROM agent a WHERE a.id = $1`,
    [agentId],
    'recovery_facts',
  );
  const tried = await tx.query<Pick<AgentRecoveryEntity, 'step'> & { at: Date }>(
    'SELECT step, max(attempted_at) AS at FROM agent_recovery WHERE agent_id = $1 GROUP BY step',
    [agentId],
    'recovery_tried',
  );
  return { ...agent!, triedAt: Object.fromEntries(tried.map(({ step, at }) => [step, at])) };
}

async function recordRecoveryAttempt(
  tx: Transaction,
  agentRef: AgentRef,
  { step, reason, status }: { step: RecoveryStep; reason: string; status: AgentStatus },
): Promise<void> {
  const { organizationId, agentId } = agentRef;
  await tx.execute(
    `UPDATE agent_recovery SET outcome = 'failed', finished_at = muster_now() WHERE agent_id = $1 AND outcome = 'tried'`,
    [agentId],
  );
  await tx.execute(
    'INSERT INTO agent_recovery (id, organization_id, agent_id, step, reason) VALUES ($1, $2, $3, $4, $5)',
    [newId(), organizationId, agentId, step, reason],
  );
  await tx.execute('UPDATE agent SET recovery_step = $2, recovery_checks = 0 WHERE id = $1', [agentId, step]);
  appendTimeline(tx, agentRef, [
    {
      kind: 'provisioning',
      level: 'warn',
      source: 'watchdog',
      message: `Auto-recovery: ${stepLabels[step]}: ${reason}`,
      data: { autoRecovery: true, step, reason },
    },
  ]);
  audit(tx, createRecoveryActor(agentRef), {
    action: 'agent.recover',
    target: { type: 'agent', id: agentId },
    changes: { step, reason, agentStatus: status },
  });
}

/** Ends the recovery after a healthy heartbeat and records that the last step helped. */
export async function endRecovery(tx: Transaction, agentRef: AgentRef): Promise<void> {
  const [helped] = await tx.query<Pick<AgentRecoveryEntity, 'step'>>(
    `UPDATE agent_recovery SET outcome = 'helped', finished_at = muster_now() WHERE agent_id = $1 AND outcome = 'tried'
     RETURNING step`,
    [agentRef.agentId],
    'recovery_helped',
  );
  await tx.execute('UPDATE agent SET recovery_step = NULL WHERE id = $1', [agentRef.agentId]);
  if (!helped) return;
  const { step } = helped;
  appendTimeline(tx, agentRef, [
    {
      kind: 'provisioning',
      source: 'watchdog',
      message: `Auto-recovery: healthy again after ${stepLabels[step]}`,
      data: { autoRecovery: true, step, helped: true },
    },
  ]);
}

export function createRecoveryActor({ organizationId }: AgentRef): Actor {
  return { kind: 'system', id: 'auto_recovery', organizationId };
}
