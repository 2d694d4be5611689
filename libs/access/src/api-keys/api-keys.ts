import { type ApiKeyScope, AppError, type CreateApiKeyBody, invalidField } from '@muster/contracts';
import { AgentEntity, ApiKeyEntity, type Database, hasPart, type Transaction } from '@muster/database';
import type { Clock, Page } from '@muster/platform';
import { type Actor, audit } from '../audit/audit';
import { announceAccessChange } from '../authentication/access-changes';
import { apiKeyIdOf, newApiKey, sha256 } from '../authentication/credentials';
import type { Principal } from '../principal';

export interface NewApiKey {
  id: string;
  name: string;
  scope: ApiKeyScope;
  agentId: string | null;
  expiresAt: Date | null;
  /** Known now and never again. */
  secret: string;
}

export async function createApiKey(
  tx: Transaction,
  caller: Principal,
  body: CreateApiKeyBody,
  clock: Clock,
): Promise<NewApiKey> {
  const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null;
  if (expiresAt && expiresAt <= clock.now()) throw invalid('expiresAt', 'expiresAt must be in the future');
  const agentId = body.agentId ?? null;
  if (agentId && body.scope !== 'worker') throw invalid('agentId', 'only a worker key is bound to an agent');
  if (agentId) {
    const agent = await tx.manager.findOneBy(AgentEntity, { id: agentId, organizationId: caller.organizationId });
    if (!agent) throw new AppError('agent_not_found', { detail: 'There is no such agent.' });
  }
  const { name, scope } = body;
  return insertApiKey(tx, caller, { organizationId: caller.organizationId, name, scope, agentId, expiresAt });
}

export interface ApiKeyInput {
  organizationId: string;
  name: string;
  scope: ApiKeyScope;
  agentId: string | null;
  expiresAt: Date | null;
  /** A key that was chosen outside, at bootstrap. */
  given?: string;
}

export async function insertApiKey(tx: Transaction, actor: Actor | Principal, input: ApiKeyInput): Promise<NewApiKey> {
  const { given, organizationId, name, scope, agentId, expiresAt } = input;
  const { id, secret } = given ? { id: apiKeyIdOf(given)!, secret: given } : newApiKey();
  await tx.manager.insert(ApiKeyEntity, {
    id,
    organizationId,
    name,
    scope,
    agentId,
    expiresAt,
    secretHash: sha256(secret),
  });
  audit(tx, actor, {
    action: 'api_key.create',
    target: { type: 'api_key', id },
    changes: { name, scope, agentId, expiresAt },
    organizationId,
  });
  return { id, name, scope, agentId, expiresAt, secret };
}

/** Newest first. The page is cut at creation time and id, since ids of keys are random. */
export function listApiKeys(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<ApiKeyEntity[]> {
  return database.transaction({ organizationId }, (tx) => {
    const keys = tx.manager
      .createQueryBuilder(ApiKeyEntity, 'k')
      .where('k.organizationId = :organizationId', { organizationId })
      .orderBy("date_trunc('milliseconds', k.createdAt)", 'DESC')
      .addOrderBy('k.id', 'DESC')
      .limit(page.limit + 1);
    // Secrets begin with the id, and the id is what logs show of them.
    if (q) keys.andWhere(hasPart("k.name || ' msk_' || k.id", ':q'), { q });
    if (page.after) {
      const [createdAt, id] = page.after;
      keys.andWhere("(date_trunc('milliseconds', k.createdAt), k.id) < (:createdAt::timestamptz, :id)", {
        createdAt,
        id,
      });
    }
    return keys.getMany();
  });
}

/** Revokes it everywhere at once. */
export async function revokeApiKey(tx: Transaction, caller: Principal, id: string): Promise<void> {
  const touched = await tx.execute('DELETE FROM api_key WHERE id = $1 AND organization_id = $2', [
    id,
    caller.organizationId,
  ]);
  if (touched === 0) throw new AppError('not_found', { detail: 'There is no such API key.' });
  await announceAccessChange(tx);
  audit(tx, caller, { action: 'api_key.delete', target: { type: 'api_key', id } });
}

/** Once the machine is gone, nothing speaks for it any more. */
export async function revokeAgentKeys(
  tx: Transaction,
  actor: Actor | Principal,
  { organizationId, agentId }: { organizationId: string; agentId: string },
): Promise<void> {
  const revoked = await tx.execute('DELETE FROM api_key WHERE agent_id = $1 AND organization_id = $2', [
    agentId,
    organizationId,
  ]);
  if (revoked === 0) return;
  await announceAccessChange(tx);
  const target = { type: 'agent', id: agentId };
  audit(tx, actor, { action: 'agent.revoke_keys', target, changes: { revoked }, organizationId });
}

function invalid(field: string, message: string): AppError {
  return invalidField(field, message, message);
}
