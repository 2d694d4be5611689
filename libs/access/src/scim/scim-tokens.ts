import { randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { AppError, hasPermissionsOf, listPermissions, type RoleHolder } from '@muster/contracts';
import { Database, type ScimTokenEntity, type Transaction } from '@muster/database';
import { Clock } from '@muster/platform';
import { audit } from '../audit/audit';
import { equalsInConstantTime, sha256Hex } from '../authentication/credentials';
import type { Principal } from '../principal';

/** The identity provider of an organization, which manages its users. */
export interface ScimClient {
  organizationId: string;
  organizationSuspended: boolean;
}

type TokenRow = Pick<ScimTokenEntity, 'secretHash' | 'lastUsedAt'> & { suspended: boolean };

const tokenPattern = /^mscim_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
/** Minimum time between two records of a token's use. */
const recordUseEveryMs = 60_000;

/** Authenticates identity providers. A token is read at each request, so a replaced token ends at once. */
@Injectable()
export class ScimTokens {
  private readonly logger = new Logger(ScimTokens.name);

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Returns the client of an Authorization header; null if its token is not valid. */
  async authenticateScimToken(authorization: string | undefined): Promise<ScimClient | null> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    const organizationId = tokenPattern.exec(token)?.[1];
    if (!organizationId) return null;
    const [row] = await this.database.query<TokenRow & object>(
      'system',
      `SELECT t.secret_hash, t.last_used_at, o.suspended
       FROM scim_token t JOIN organization o ON o.id = t.organization_id
       WHERE t.organization_id = $1`,
      [organizationId],
      'load_scim_token',
    );
    if (!row || !equalsInConstantTime(row.secretHash, sha256Hex(token))) return null;
    this.recordTokenUse(organizationId, row.lastUsedAt);
    return { organizationId, organizationSuspended: row.suspended };
  }

  private recordTokenUse(organizationId: string, lastUsedAt: Date | null): void {
    const now = this.clock.now();
    if (lastUsedAt && now.getTime() - lastUsedAt.getTime() < recordUseEveryMs) return;
    const sql = 'UPDATE scim_token SET last_used_at = $2 WHERE organization_id = $1';
    this.database.query('system', sql, [organizationId, now]).catch((error: Error) => {
      this.logger.debug?.(`could not record the use of a SCIM token: ${error.message}`);
    });
  }
}

/** Returns the organization's token without its secret; null if there is none. */
export async function readScimToken(
  database: Database,
  organizationId: string,
): Promise<Pick<ScimTokenEntity, 'createdAt' | 'lastUsedAt'> | null> {
  const [row] = await database.query<Pick<ScimTokenEntity, 'createdAt' | 'lastUsedAt'>>(
    { organizationId },
    'SELECT created_at, last_used_at FROM scim_token WHERE organization_id = $1',
    [organizationId],
    'read_scim_token',
  );
  return row ?? null;
}

/** Creates the organization's token, which replaces the previous one. Returns the token, which is not stored. */
export async function createScimToken(tx: Transaction, caller: Principal): Promise<string> {
  const { organizationId } = caller;
  const permissions = hasPermissionsOf(caller, { role: 'admin' }) ? null : listPermissions(caller);
  const token = `mscim_${organizationId}_${randomBytes(32).toString('base64url')}`;
  await tx.execute(
    `INSERT INTO scim_token (organization_id, secret_hash, permissions, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (organization_id) DO UPDATE
     SET secret_hash = excluded.secret_hash, permissions = excluded.permissions, created_at = excluded.created_at, last_used_at = NULL`,
    [organizationId, sha256Hex(token), permissions, tx.now],
  );
  audit(tx, caller, {
    action: 'organization.create_scim_token',
    target: { type: 'organization', id: organizationId },
  });
  return token;
}

/** Deletes the organization's token. Its users and groups stay. */
export async function deleteScimToken(tx: Transaction, caller: Principal): Promise<void> {
  const { organizationId } = caller;
  const deleted = await tx.execute('DELETE FROM scim_token WHERE organization_id = $1', [organizationId]);
  if (deleted === 0) throw new AppError('not_found', { detail: 'The organization has no SCIM token.' });
  audit(tx, caller, {
    action: 'organization.delete_scim_token',
    target: { type: 'organization', id: organizationId },
  });
}

/** Returns the permissions that the provider cannot exceed; null if there is no limit. */
export async function loadTokenLimit(tx: Transaction, organizationId: string): Promise<RoleHolder | null> {
  const [token] = await tx.query<Pick<ScimTokenEntity, 'permissions'>>(
    'SELECT permissions FROM scim_token WHERE organization_id = $1',
    [organizationId],
  );
  return token?.permissions ? { role: 'limit of the SCIM token', ownPermissions: token.permissions } : null;
}
