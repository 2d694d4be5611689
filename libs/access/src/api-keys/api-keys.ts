import {
  type ApiKeyRole,
  type ApiKeyScope,
  AppError,
  type CreateApiKeyBody,
  hasPermission,
  hasPermissionsOf,
  invalidFieldError,
  notFoundError,
  agentNotFoundError,
} from '@muster/contracts';
import {
  AgentEntity,
  ApiKeyEntity,
  type Database,
  containsIgnoringCaseSql,
  type OrganizationSettingsEntity,
  type Transaction,
} from '@muster/database';
import { type Clock, isAddressOrRange, type Page } from '@muster/platform';
import { type Actor, audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { parseApiKeyId, generateApiKey, sha256Hex } from '../authentication/credentials';
import type { Principal } from '../principal';

export interface NewApiKey {
  id: string;
  name: string;
  scope: ApiKeyScope;
  agentId: string | null;
  expiresAt: Date | null;
  role: ApiKeyRole;
  ipAllow: string[];
  /** The full key. Only its hash is stored, so the key cannot be shown again. */
  secret: string;
}

export async function createApiKey(
  tx: Transaction,
  caller: Principal,
  body: CreateApiKeyBody,
  clock: Clock,
): Promise<NewApiKey> {
  const requested = body.expiresAt ? new Date(body.expiresAt) : null;
  if (requested && requested <= clock.now())
    throw invalidApiKeyFieldError('expiresAt', 'expiresAt must be in the future');
  const latest = await readLatestExpiry(tx, caller.organizationId, clock.now());
  if (requested && latest && requested > latest) {
    throw invalidApiKeyFieldError(
      'expiresAt',
      `expiresAt must be ${latest.toISOString()} or earlier in this organization`,
    );
  }
  const expiresAt = requested ?? latest;
  const agentId = body.agentId ?? null;
  if (agentId && body.scope !== 'worker')
    throw invalidApiKeyFieldError('agentId', 'only a worker key can be bound to an agent');
  if (agentId) {
    const agent = await tx.manager.findOneBy(AgentEntity, { id: agentId, organizationId: caller.organizationId });
    if (!agent) throw agentNotFoundError();
  }
  const { name, scope, role = 'member', ipAllow = [] } = body;
  if (role !== 'member' && scope !== 'api')
    throw invalidApiKeyFieldError('role', 'role can be set only for a key of scope api');
  requireGrantableKey(caller, scope, role);
  const invalidAt = ipAllow.findIndex((entry) => !isAddressOrRange(entry));
  if (invalidAt >= 0)
    throw invalidApiKeyFieldError(`ipAllow.${invalidAt}`, `${ipAllow[invalidAt]} is neither an address nor a CIDR`);
  const bounds = { agentId, expiresAt, role, ipAllow };
  return insertApiKey(tx, caller, { organizationId: caller.organizationId, name, scope, ...bounds });
}

/** Returns the latest expiry that the organization's apiKeyMaxDays allows; null if the organization sets no limit. */
export async function readLatestExpiry(tx: Transaction, organizationId: string, now: Date): Promise<Date | null> {
  const [row] = await tx.query<Pick<OrganizationSettingsEntity, 'apiKeyMaxDays'>>(
    'SELECT api_key_max_days FROM organization_settings WHERE organization_id = $1',
    [organizationId],
  );
  return row?.apiKeyMaxDays ? new Date(now.getTime() + row.apiKeyMaxDays * 86_400_000) : null;
}

export interface ApiKeyInput {
  organizationId: string;
  name: string;
  scope: ApiKeyScope;
  agentId: string | null;
  expiresAt: Date | null;
  role?: ApiKeyRole;
  ipAllow?: string[];
  /** The user whose device sign-in creates the key; absent for a key that is created by name. */
  userId?: string;
  /** The full key, if the operator chose it at bootstrap; by default a new key is generated. */
  chosenSecret?: string;
}

export async function insertApiKey(tx: Transaction, actor: Actor | Principal, input: ApiKeyInput): Promise<NewApiKey> {
  const {
    chosenSecret,
    organizationId,
    name,
    scope,
    agentId,
    expiresAt,
    role = 'member',
    ipAllow = [],
    userId,
  } = input;
  const { id, secret } = chosenSecret ? { id: parseApiKeyId(chosenSecret)!, secret: chosenSecret } : generateApiKey();
  await tx.manager.insert(ApiKeyEntity, {
    id,
    organizationId,
    name,
    scope,
    agentId,
    expiresAt,
    role,
    ipAllow,
    userId: userId ?? null,
    secretHash: sha256Hex(secret),
  });
  audit(tx, actor, {
    action: 'api_key.create',
    target: { type: 'api_key', id },
    changes: { name, scope, agentId, expiresAt, role, ipAllow },
    organizationId,
  });
  return { id, name, scope, agentId, expiresAt, role, ipAllow, secret };
}

/** Lists keys, newest first. Pages are cut by creation time and id, because the ids of keys are random. */
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
    // A key starts with `msk_<id>`, and logs show only this part, so a search must find it.
    if (q) keys.andWhere(containsIgnoringCaseSql("k.name || ' msk_' || k.id", ':q'), { q });
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

/** Deletes a key. All processes are notified at the commit, so the key stops working everywhere at once. */
export async function revokeApiKey(tx: Transaction, caller: Principal, id: string): Promise<void> {
  const touched = await tx.execute('DELETE FROM api_key WHERE id = $1 AND organization_id = $2', [
    id,
    caller.organizationId,
  ]);
  if (touched === 0) throw notFoundError('API key');
  await dropCachedPrincipals(tx);
  audit(tx, caller, { action: 'api_key.delete', target: { type: 'api_key', id } });
}

/** Deletes all keys that are bound to an agent, once its machine no longer exists. */
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
  await dropCachedPrincipals(tx);
  const target = { type: 'agent', id: agentId };
  audit(tx, actor, { action: 'agent.revoke_keys', target, changes: { revoked }, organizationId });
}

/**
 * Throws if the key could do more than the caller. A worker key can read the secrets of runs, and a user who creates an
 * agent gets such a key.
 */
function requireGrantableKey(caller: Principal, scope: ApiKeyScope, role: ApiKeyRole): void {
  const isAllowed = scope === 'worker' ? hasPermission(caller, 'agents.admin') : hasPermissionsOf(caller, { role });
  if (isAllowed) return;
  const needed = scope === 'worker' ? 'the permission agents.admin' : `all permissions of the role ${role}`;
  throw new AppError('permission_denied', { detail: `Creating this key needs ${needed}.` });
}

function invalidApiKeyFieldError(field: string, message: string): AppError {
  return invalidFieldError(field, message, message);
}
