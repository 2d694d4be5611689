import type {
  ApiKeyEntity,
  Database,
  OrganizationEntity,
  OrganizationSettingsEntity,
  OwnRoleEntity,
  SessionEntity,
  UserEntity,
} from '@muster/database';
import type { KeyPrincipal, UserPrincipal } from '../principal';

export interface Loaded<P> {
  principal: P;
  secretHash: string;
  /** The token of a session before its present one, and the time until which it is accepted. */
  previous?: { hash: string; until: Date };
  expiresAt: Date | null;
  /** Time of the credential's last use that was recorded. */
  usedAt: Date | null;
  /** The address of the last recorded use; only API keys have it. */
  usedFrom?: string | null;
  /** The addresses from which an API key can be used; any address if empty. */
  ipAllow?: string[];
  /** Milliseconds without use after which a session ends; only sessions have it. */
  idleMs?: number;
}

interface SessionRow
  extends
    Pick<
      SessionEntity,
      'secretHash' | 'previousHash' | 'previousUntil' | 'expiresAt' | 'lastSeenAt' | 'secondFactorAt'
    >,
    Pick<UserEntity, 'email' | 'role' | 'secondFactorSince'> {
  userId: UserEntity['id'];
  homeOrganizationId: UserEntity['organizationId'];
  organizationId: OrganizationEntity['id'];
  organizationName: OrganizationEntity['name'];
  organizationSuspended: OrganizationEntity['suspended'];
  /** Permissions of the user's own role; null for one of the four roles. */
  ownPermissions: OwnRoleEntity['permissions'] | null;
  sessionIdleMinutes: OrganizationSettingsEntity['sessionIdleMinutes'];
}

/** Loads a session, unless its user is disabled. */
export async function loadPrincipalOfSession(database: Database, id: string): Promise<Loaded<UserPrincipal> | null> {
  const [row] = await database.query<SessionRow>(
    'system',
    `SELECT s.secret_hash, s.previous_hash, s.previous_until, s.expires_at, s.last_seen_at, s.second_factor_at, u.id AS user_id, u.email, u.role,
            u.second_factor_since, r.permissions AS own_permissions,
            u.organization_id AS home_organization_id, o.id AS organization_id, o.name AS organization_name,
            o.suspended AS organization_suspended, st.session_idle_minutes
     FROM user_session s
     JOIN app_user u ON u.id = s.user_id AND NOT u.disabled
     JOIN organization_settings st ON st.organization_id = u.organization_id
     LEFT JOIN own_role r ON r.organization_id = u.organization_id AND r.name = u.role
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
    ...(row.previousHash && row.previousUntil
      ? { previous: { hash: row.previousHash, until: row.previousUntil } }
      : {}),
    expiresAt: row.expiresAt,
    usedAt: row.lastSeenAt,
    idleMs: row.sessionIdleMinutes * 60_000,
    principal: {
      kind: 'user',
      id: row.userId,
      email: row.email,
      role: row.role,
      ...(row.ownPermissions ? { ownPermissions: row.ownPermissions } : {}),
      sessionId: id,
      organizationId: row.organizationId,
      organizationName: row.organizationName,
      organizationSuspended: row.organizationSuspended,
      homeOrganizationId: row.homeOrganizationId,
      ...(row.secondFactorSince ? { secondFactorAt: row.secondFactorAt } : {}),
    },
  };
}

interface KeyRow extends Pick<
  ApiKeyEntity,
  | 'secretHash'
  | 'expiresAt'
  | 'lastUsedAt'
  | 'lastUsedFrom'
  | 'scope'
  | 'agentId'
  | 'organizationId'
  | 'role'
  | 'ipAllow'
> {
  organizationName: OrganizationEntity['name'];
  organizationSuspended: OrganizationEntity['suspended'];
}

export async function loadPrincipalOfApiKey(database: Database, id: string): Promise<Loaded<KeyPrincipal> | null> {
  const [row] = await database.query<KeyRow>(
    'system',
    `SELECT k.secret_hash, k.expires_at, k.last_used_at, k.last_used_from, k.scope, k.agent_id,
            k.organization_id, k.role, k.ip_allow,
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
    usedFrom: row.lastUsedFrom,
    ipAllow: row.ipAllow,
    principal: {
      kind: 'api_key',
      id,
      scope: row.scope,
      agentId: row.agentId,
      role: row.role,
      organizationId: row.organizationId,
      organizationName: row.organizationName,
      organizationSuspended: row.organizationSuspended,
    },
  };
}

/** Records that a credential was used. This happens rarely, and no request waits for it. */
export async function recordCredentialUse(
  database: Database,
  principal: UserPrincipal | KeyPrincipal,
  { now, address }: { now: Date; address: string | null },
): Promise<void> {
  const [sql, values] =
    principal.kind === 'user'
      ? ['UPDATE user_session SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2', [principal.sessionId, now]]
      : ['UPDATE api_key SET last_used_at = $2, last_used_from = $3 WHERE id = $1', [principal.id, now, address]];
  await database.query('system', sql as string, values as unknown[]);
}
