import { hash } from 'node:crypto';
import { type Actor, insertApiKey, newApiKey, type Principal } from '@muster/access';
import type { Database, Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';

interface AgentOf {
  organizationId: string;
  agentId: string;
}

/**
 * Makes a worker key that is bound to the agent. Its secret is derived from the master key ring and the key's id, so
 * that the service can hand it to the machine again without keeping it.
 */
export async function issueAgentKey(
  tx: Transaction,
  keyRing: KeyRing,
  actor: Actor | Principal,
  agent: AgentOf & { name: string },
): Promise<string> {
  const { organizationId, agentId } = agent;
  const given = derivedKeys(keyRing, newApiKey().id)[0]!;
  await insertApiKey(tx, actor, {
    organizationId,
    name: `agent ${agent.name}`,
    scope: 'worker',
    agentId,
    expiresAt: null,
    chosenSecret: given,
  });
  return given;
}

/** The newest key of the agent that still holds, derived again; null where there is none that we can derive. */
export async function agentKeyOf(database: Database, keyRing: KeyRing, agent: AgentOf): Promise<string | null> {
  const [row] = await database.query<{ workerKeys: string[] }>(
    { organizationId: agent.organizationId },
    `SELECT ${workerKeysOf('a')} AS worker_keys FROM agent a WHERE a.id = $1 AND a.organization_id = $2`,
    [agent.agentId, agent.organizationId],
    'agent_keys',
  );
  return deriveKey(keyRing, row?.workerKeys ?? []);
}

/** For a statement over agents: the newest keys that may still hold of the one that \`agent\` names, each as id and hash. */
export function workerKeysOf(agent: string): string {
  return `ARRAY(
    SELECT k.id || ' ' || k.secret_hash FROM api_key k
    WHERE k.agent_id = ${agent}.id AND k.organization_id = ${agent}.organization_id AND k.scope = 'worker'
      AND (k.expires_at IS NULL OR k.expires_at > muster_now())
    ORDER BY k.created_at DESC LIMIT 10)`;
}

/** The first of them, as workerKeysOf has them, whose secret is one that we derive. */
export function deriveKey(keyRing: KeyRing, workerKeys: string[]): string | null {
  for (const idAndHash of workerKeys) {
    const [id, secretHash] = idAndHash.split(' ') as [string, string];
    const key = derivedKeys(keyRing, id).find((candidate) => hash('sha256', candidate) === secretHash);
    if (key) return key;
  }
  return null;
}

/** The key as each master key makes it, the active one's first. */
function derivedKeys(keyRing: KeyRing, id: string): string[] {
  return keyRing.derive('agent-key', id).map((secret) => `msk_${id}_${secret.toString('base64url')}`);
}
