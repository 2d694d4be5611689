import type { ApiKeyEntity, Database, OrganizationEntity, SessionEntity, UserEntity } from '@muster/database';
import type { KeyPrincipal, UserPrincipal } from '../principal';

export interface Loaded<P> {
  principal: P;
  secretHash: string;
  expiresAt: Date | null;
  /** Since this, its last use has not been written down. */
  usedAt: Date | null;
}

interface SessionRow
  extends Pick<SessionEntity, 'secretHash' | 'expiresAt' | 'lastSeenAt'>, Pick<UserEntity, 'email' | 'role'> {
  userId: UserEntity['id'];
  homeOrganizationId: UserEntity['organizationId'];
  organizationId: OrganizationEntity['id'];
  organizationName: OrganizationEntity['name'];
  organizationSuspended: OrganizationEntity['suspended'];
}

/** A session of a user who may still sign in. */
export async function loadSession(database: Database, id: string): Promise<Loaded<UserPrincipal> | null> {
  const [row] = await database.query<SessionRow>(
    'system',
    `SELECT s.secret_hash, s.expires_at, s.last_seen_at, u.id AS user_id, u.email, u.role,
            u.organization_id AS home_organization_id, o.id AS organization_id, o.name AS organization_name,
            o.suspended AS organization_suspended
     FROM user_session s
     JOIN app_user u ON u.id = s.user_id AND NOT u.disabled
     JOIN organization o ON o.id =
       CASE WHEN u.role = 'super_admin' THEN COALESCE(s.override_organization_id, u.organization_id)
            ELSE u.organization_id END
     WHERE s.id = $1`,
    [id],
    'load_session',
  );
  if (!row) return null;
  return {
    secretHash: row.secretHash,
    expiresAt: row.expiresAt,
    usedAt: row.lastSeenAt,
    principal: {
      kind: 'user',
      id: row.userId,
      email: row.email,
      role: row.role,
      sessionId: id,
      organizationId: row.organizationId,
      organizationName: row.organizationName,
      organizationSuspended: row.organizationSuspended,
      homeOrganizationId: row.homeOrganizationId,
    },
  };
}

interface KeyRow extends Pick<
  ApiKeyEntity,
  'secretHash' | 'expiresAt' | 'lastUsedAt' | 'scope' | 'agentId' | 'organizationId'
> {
  organizationName: OrganizationEntity['name'];
  organizationSuspended: OrganizationEntity['suspended'];
}

export async function loadApiKey(database: Database, id: string): Promise<Loaded<KeyPrincipal> | null> {
  const [row] = await database.query<KeyRow>(
    'system',
    `SELECT k.secret_hash, k.expires_at, k.last_used_at, k.scope, k.agent_id, k.organization_id,
            o.name AS organization_name, o.suspended AS organization_suspended
     FROM api_key k JOIN organization o ON o.id = k.organization_id
     WHERE k.id = $1`,
    [id],
    'load_api_key',
  );
  if (!row) return null;
  return {
    secretHash: row.secretHash,
    expiresAt: row.expiresAt,
    usedAt: row.lastUsedAt,
    principal: {
      kind: 'api_key',
      id,
      scope: row.scope,
      agentId: row.agentId,
      role: 'member',
      organizationId: row.organizationId,
      organizationName: row.organizationName,
      organizationSuspended: row.organizationSuspended,
    },
  };
}

/** Writes down that a credential was used, at most once a minute and never in the way of its request. */
export async function recordUse(database: Database, principal: UserPrincipal | KeyPrincipal, now: Date): Promise<void> {
  const [sql, id] =
    principal.kind === 'user'
      ? ['UPDATE user_session SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2', principal.sessionId]
      : ['UPDATE api_key SET last_used_at = $2 WHERE id = $1', principal.id];
  await database.query('system', sql, [id, now]);
}
