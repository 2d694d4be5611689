import { hash } from 'node:crypto';
import { type Actor, insertApiKey, newApiKey, type Principal } from '@muster/access';
import type { ApiKeyEntity, Database, Transaction } from '@muster/database';
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
    given,
  });
  return given;
}

/** The newest key of the agent that still holds, derived again; null where there is none that we can derive. */
export async function agentKeyOf(database: Database, keyRing: KeyRing, agent: AgentOf): Promise<string | null> {
  const rows = await database.query<Pick<ApiKeyEntity, 'id' | 'secretHash'>>(
    { organizationId: agent.organizationId },
    `SELECT id, secret_hash FROM api_key
     WHERE agent_id = $1 AND organization_id = $2 AND scope = 'worker' AND (expires_at IS NULL OR expires_at > now())
     ORDER BY created_at DESC LIMIT 10`,
    [agent.agentId, agent.organizationId],
    'agent_keys',
  );
  for (const { id, secretHash } of rows) {
    const key = derivedKeys(keyRing, id).find((candidate) => hash('sha256', candidate) === secretHash);
    if (key) return key;
  }
  return null;
}

/** The key as each master key makes it, the active one's first. */
function derivedKeys(keyRing: KeyRing, id: string): string[] {
  return keyRing.derive('agent-key', id).map((secret) => `msk_${id}_${secret.toString('base64url')}`);
}
