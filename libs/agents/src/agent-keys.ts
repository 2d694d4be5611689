import { hash } from 'node:crypto';
import { type Actor, insertApiKey, newApiKey, type Principal } from '@muster/access';
import type { Database, Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';

interface AgentRef {
  organizationId: string;
  agentId: string;
}

/**
 * Creates a worker key that is bound to the agent. The secret is derived from the master key ring and the key's id, so
 * the service can send it to the machine again without storing it.
 */
export async function issueAgentKey(
  tx: Transaction,
  keyRing: KeyRing,
  actor: Actor | Principal,
  agent: AgentRef & { name: string },
): Promise<string> {
  const { organizationId, agentId } = agent;
  const workerKey = derivedKeys(keyRing, newApiKey().id)[0]!;
  await insertApiKey(tx, actor, {
    organizationId,
    name: `agent ${agent.name}`,
    scope: 'worker',
    agentId,
    expiresAt: null,
    chosenSecret: workerKey,
  });
  return workerKey;
}

/** Derives the agent's newest valid key again. Null if the agent has no valid key that the key ring can derive. */
export async function agentKeyOf(database: Database, keyRing: KeyRing, agent: AgentRef): Promise<string | null> {
  const [row] = await database.query<{ workerKeys: string[] }>(
    { organizationId: agent.organizationId },
    `SELECT ${workerKeysOf('a')} AS worker_keys FROM agent a WHERE a.id = $1 AND a.organization_id = $2`,
    [agent.agentId, agent.organizationId],
    'agent_keys',
  );
  return deriveKey(keyRing, row?.workerKeys ?? []);
}

/** SQL: the newest unexpired worker keys of the agent with the alias `agent`, each as id and hash. */
export function workerKeysOf(agent: string): string {
  return `ARRAY(
    SELECT k.id || ' ' || k.secret_hash FROM api_key k
    WHERE k.agent_id = ${agent}.id AND k.organization_id = ${agent}.organization_id AND k.scope = 'worker'
      AND (k.expires_at IS NULL OR k.expires_at > muster_now())
    ORDER BY k.created_at DESC LIMIT 10)`;
}

/** Returns the first key of `workerKeysOf` with a secret that the key ring can derive. */
export function deriveKey(keyRing: KeyRing, workerKeys: string[]): string | null {
  for (const idAndHash of workerKeys) {
    const [id, secretHash] = idAndHash.split(' ') as [string, string];
    const key = derivedKeys(keyRing, id).find((candidate) => hash('sha256', candidate) === secretHash);
    if (key) return key;
  }
  return null;
}

/** The key derived with each master key, the active one first. */
function derivedKeys(keyRing: KeyRing, id: string): string[] {
  return keyRing.derive('agent-key', id).map((secret) => `msk_${id}_${secret.toString('base64url')}`);
}
