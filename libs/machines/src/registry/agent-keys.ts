import { hash } from 'node:crypto';
import { type Actor, insertApiKey, generateApiKey, type Principal } from '@muster/access';
import type { Database, Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';

interface AgentRef {
  organizationId: string;
  agentId: string;
}

/**
 * Creates a worker key that is bound to the agent. The secret is derived from the master keys and the key's id. So the
 * service can send the same secret to the machine again without storing it.
 */
export async function issueAgentKey(
  tx: Transaction,
  keyRing: KeyRing,
  actor: Actor | Principal,
  agent: AgentRef & { name: string },
): Promise<string> {
  const { organizationId, agentId } = agent;
  const workerKey = listDerivedKeys(keyRing, generateApiKey().id)[0]!;
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

/**
 * Derives the secret of the agent's newest valid key. Null if the agent has no valid key, or none that was derived from
 * a master key.
 */
export async function deriveAgentKey(database: Database, keyRing: KeyRing, agent: AgentRef): Promise<string | null> {
  const [row] = await database.query<{ workerKeys: string[] }>(
    { organizationId: agent.organizationId },
    `SELECT ${workerKeysSql('a')} AS worker_keys FROM agent a WHERE a.id = $1 AND a.organization_id = $2`,
    [agent.agentId, agent.organizationId],
    'agent_keys',
  );
  return deriveMatchingKey(keyRing, row?.workerKeys ?? []);
}

/** SQL over the agent with the alias `agent`: its last ten unexpired worker keys, newest first, each as id and hash. */
export function workerKeysSql(agent: string): string {
  return `ARRAY(
    SELECT k.id || ' ' || k.secret_hash FROM api_key k
    WHERE k.agent_id = ${agent}.id AND k.organization_id = ${agent}.organization_id AND k.scope = 'worker'
      AND (k.expires_at IS NULL OR k.expires_at > muster_now())
    ORDER BY k.created_at DESC LIMIT 10)`;
}

/**
 * Returns the secret of the agent's first key that was derived from a master key; null if there is none. The keys have
 * the form of `workerKeysSql`.
 */
export function deriveMatchingKey(keyRing: KeyRing, workerKeys: string[]): string | null {
  for (const idAndHash of workerKeys) {
    const [id, secretHash] = idAndHash.split(' ') as [string, string];
    const key = listDerivedKeys(keyRing, id).find((candidate) => hash('sha256', candidate) === secretHash);
    if (key) return key;
  }
  return null;
}

/** Returns the secrets that the master keys derive for a key id, the active master key's first. */
function listDerivedKeys(keyRing: KeyRing, id: string): string[] {
  return keyRing.deriveKeys('agent-key', id).map((secret) => `msk_${id}_${secret.toString('base64url')}`);
}
