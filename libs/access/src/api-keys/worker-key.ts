import type { ApiKeyEntity, Transaction } from '@muster/database';
import { parseApiKeyId, equalsInConstantTime, sha256Hex } from '../authentication/credentials';

/**
 * Whether a worker of this agent would be admitted with the key: a valid worker key, unbound or bound to this agent.
 */
export async function isValidWorkerKey(
  tx: Transaction,
  key: string,
  { organizationId, agentId, now }: { organizationId: string; agentId: string; now: Date },
): Promise<boolean> {
  const id = parseApiKeyId(key);
  if (!id) return false;
  const [row] = await tx.query<Pick<ApiKeyEntity, 'secretHash'>>(
    `SELECT secret_hash FROM api_key
     WHERE id = $1 AND organization_id = $2 AND scope = 'worker' AND (agent_id IS NULL OR agent_id = $3)
       AND (expires_at IS NULL OR expires_at > $4)`,
    [id, organizationId, agentId, now],
    'worker_key_of',
  );
  return row !== undefined && equalsInConstantTime(row.secretHash, sha256Hex(key));
}
