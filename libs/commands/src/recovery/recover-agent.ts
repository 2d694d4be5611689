import type { AgentEntity, Database, Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import {
  deriveAgentKey,
  issueAgentKey,
  setAgentStatus,
  startRecovery,
  type LockedAgent,
  createRecoveryActor,
  retryUnreachableTunnel,
  type RecoveryDecision,
  type RecoveryStep,
} from '@muster/machines';
import { issueCommand } from '../requests/issue-command';
import { encryptSecrets } from '../command/sealed-payload';
import { resumeWorkOfAgent } from '../delivery/resume-work';

export interface RecoveryParts {
  database: Database;
  keyRing: KeyRing;
}

interface AgentRef {
  organizationId: string;
  agentId: string;
}

const commandTimeoutMs = 10 * 60_000;

/**
 * Tries one recovery step if one is due: a command to the worker, or a reboot of the machine.
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
  const key = await deriveAgentKey(database, keyRing, agentRef);
  return database.transaction('system', async (tx) => {
    const { agent, decision } = await startRecovery(tx, agentId);
    const { step, reason } = decision;
    if (step) await attemptRecoveryStep(tx, agentRef, { step, reason, agent, keyRing, key });
    return decision;
  });
}

async function attemptRecoveryStep(
  tx: Transaction,
  agentRef: AgentRef,
  {
    step,
    reason,
    agent,
    keyRing,
    key,
  }: {
    step: RecoveryStep;
    reason: string;
    agent: LockedAgent;
    keyRing: KeyRing;
    key: string | null;
  },
): Promise<void> {
  const { agentId } = agentRef;
  const deadline = new Date(agent.now.getTime() + commandTimeoutMs);
  switch (step) {
    case 'resync':
      // The step re-sync: the tunnel is used again, and a waiting poll of the worker is answered.
      await retryUnreachableTunnel(tx, agentId);
      return resumeWorkOfAgent(tx, agentRef);
    case 'repair': {
      const apiKey =
        key ?? (await issueAgentKey(tx, keyRing, createRecoveryActor(agentRef), { ...agentRef, name: agent.name }));
      await issueCommand(tx, {
        ...agentRef,
        kind: 'repair',
        payload: encryptSecrets(keyRing, agentId, { apiKey }),
        deadline,
      });
      return;
    }
    case 'restart':
      await issueCommand(tx, { ...agentRef, kind: 'restart', payload: {}, deadline });
      return;
    case 'reboot': {
      await setAgentStatus(tx, {
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
