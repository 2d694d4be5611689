import { type Actor, audit } from '@muster/access';
import type { AgentProvider, AgentStatus } from '@muster/contracts';
import type { AgentEntity, AgentRecoveryEntity, Database, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { agentKeyOf, issueAgentKey } from '../agent-keys';
import { issueCommand } from '../commands/issue-command';
import { sealPayload } from '../commands/sealed-payload';
import { moveAgent } from '../lifecycle/move-agent';
import { resumeWork } from '../commands/resume-work';
import { appendTimeline } from '@muster/timeline';
import {
  decideRecovery,
  type RecoveryDecision,
  type RecoveryFacts,
  type RecoveryStep,
  stepLabels,
} from './decide-recovery';

export interface RecoveryParts {
  database: Database;
  keyRing: KeyRing;
}

interface Locked extends Omit<RecoveryFacts, 'triedAt'>, Pick<AgentEntity, 'organizationId' | 'name'> {
  now: Date;
}

interface AgentRef {
  organizationId: string;
  agentId: string;
}

const commandTimeoutMs = 10 * 60_000;
/** SQL interval: a run whose last report is older than this does not count as a run that reports. */
const runSilentAfter = '2 minutes';

/**
 * Tries one recovery step if one is due. The decision is made under the agent's lock, so several messages for the same
 * agent make only one attempt.
 */
export async function recoverAgent(
  { database, keyRing }: RecoveryParts,
  agentId: string,
): Promise<RecoveryDecision | null> {
  const [found] = await database.query<Pick<AgentEntity, 'organizationId'>>(
    'system',
    'SELECT organization_id FROM agent WHERE id = $1',
    [agentId],
  );
  if (!found) return null;
  const agentRef = { organizationId: found.organizationId, agentId };
  const key = await agentKeyOf(database, keyRing, agentRef);
  return database.transaction('system', async (tx) => {
    const facts = await lockFacts(tx, agentId);
    const decision = decideRecovery(facts, facts.now);
    const { step, reason } = decision;
    if (!step) return decision;
    await recordAttempt(tx, agentRef, { step, reason, status: facts.status });
    await attempt(tx, agentRef, { step, reason, facts, keyRing, key });
    return decision;
  });
}

async function lockFacts(tx: Transaction, agentId: string): Promise<RecoveryFacts & Locked> {
  await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId], 'lock_agent_to_recover');
  const [agent] = await tx.query<Locked>(
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

async function recordAttempt(
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
  audit(tx, actorOf(agentRef), {
    action: 'agent.recover',
    target: { type: 'agent', id: agentId },
    changes: { step, reason, agentStatus: status },
  });
}

async function attempt(
  tx: Transaction,
  agentRef: AgentRef,
  {
    step,
    reason,
    facts,
    keyRing,
    key,
  }: {
    step: RecoveryStep;
    reason: string;
    facts: { name: string; provider: AgentProvider; now: Date };
    keyRing: KeyRing;
    key: string | null;
  },
): Promise<void> {
  const { agentId } = agentRef;
  const deadline = new Date(facts.now.getTime() + commandTimeoutMs);
  switch (step) {
    case 'resync':
      // The step re-sync: the tunnel is used again, and a waiting poll of the worker is answered.
      await tx.execute(
        `UPDATE agent SET public_tunnel_url = COALESCE(public_tunnel_url, tunnel_url), unreachable_tunnel = NULL
         WHERE id = $1`,
        [agentId],
      );
      return resumeWork(tx, agentRef);
    case 'repair': {
      const apiKey = key ?? (await issueAgentKey(tx, keyRing, actorOf(agentRef), { ...agentRef, name: facts.name }));
      await issueCommand(tx, {
        ...agentRef,
        kind: 'repair',
        payload: sealPayload(keyRing, agentId, { apiKey }),
        deadline,
      });
      return;
    }
    case 'restart':
      await issueCommand(tx, { ...agentRef, kind: 'restart', payload: {}, deadline });
      return;
    case 'reboot': {
      await moveAgent(tx, {
        ...agentRef,
        move: 'recovery_reboot',
        to: 'rebooting',
        source: 'watchdog',
        by: 'auto_recovery',
        reason,
      });
      await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
    }
  }
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

function actorOf({ organizationId }: AgentRef): Actor {
  return { kind: 'system', id: 'auto_recovery', organizationId };
}
