import { AppError, hasPermissionsOf } from '@muster/contracts';
import {
  getViolatedConstraint,
  type Database,
  type ScimUserEntity,
  type Transaction,
  type UserEntity,
} from '@muster/database';
import { isUuid } from '@muster/platform';
import { revokeKeysOfUser } from '../api-keys/user-keys';
import { audit, listChangedFields } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { deleteSignInAddresses } from '../authentication/sign-in-addresses';
import { deleteLinks } from '../sso/links';
import { endOtherSessionsOfUser, removeAllSecondFactors } from '../second-factor/second-factors';
import { loadRole } from '../users/own-roles';
import { insertUser, requireAnotherAdmin } from '../users/users';
import { applyGroupRoles } from './group-roles';
import type { ScimFilter } from './parse-filter';
import { buildScimActor } from './scim-actor';
import { scimError } from './scim-error';
import { loadTokenLimit } from './scim-tokens';
import type { ScimUserChange } from './user-changes';

type Attributes = Pick<ScimUserEntity, 'externalId' | 'displayName' | 'givenName' | 'familyName'>;

export interface ScimUserRow
  extends Attributes, Pick<UserEntity, 'id' | 'email' | 'role' | 'disabled' | 'organizationId' | 'createdAt'> {
  /** When the provider last changed the user; null if it never did. */
  updatedAt: Date | null;
  groups: { value: string; display: string }[];
}

const columns = `u.id, u.organization_id, u.email, u.role, u.disabled, u.created_at,
  s.external_id, s.display_name, s.given_name, s.family_name, s.updated_at,
  COALESCE((SELECT jsonb_agg(jsonb_build_object('value', g.id, 'display', g.display_name) ORDER BY g.id)
            FROM scim_group_member m JOIN scim_group g ON g.id = m.group_id WHERE m.user_id = u.id), '[]') AS groups`;

/** Users that the provider sees: all but those that it has deleted. */
const visible = `app_user u LEFT JOIN scim_user s ON s.user_id = u.id
  WHERE u.organization_id = $1 AND NOT (u.disabled AND s.deleted_at IS NOT NULL)`;

export const userFilters = ['userName', 'externalId', 'id', 'emails.value'] as const;

export interface ScimPage {
  /** Number of users that precede the page. */
  offset: number;
  limit: number;
}

export function listScimUsers(
  database: Database,
  organizationId: string,
  { filter, offset, limit }: ScimPage & { filter: ScimFilter | null },
): Promise<{ total: number; rows: ScimUserRow[] }> {
  const [condition, value] = buildUserCondition(filter);
  const values = [organizationId, value];
  return database.transaction({ organizationId }, async (tx) => {
    const [count] = await tx.query<{ total: number }>(
      `SELECT count(*)::integer AS total FROM ${visible} AND ($2::text IS NULL OR ${condition})`,
      values,
    );
    const rows = await tx.query<ScimUserRow>(
      `SELECT ${columns} FROM ${visible} AND ($2::text IS NULL OR ${condition}) ORDER BY u.id OFFSET $3 LIMIT $4`,
      [...values, offset, limit],
    );
    return { total: count!.total, rows };
  });
}

function buildUserCondition(filter: ScimFilter | null): [sql: string, value: string | null] {
  if (filter === null) return ['true', null];
  if (filter.attribute === 'externalid') return ['s.external_id = $2', filter.value];
  if (filter.attribute === 'id') return ['u.id::text = $2', filter.value.toLowerCase()];
  return ['u.email = $2', filter.value.toLowerCase()];
}

export function findScimUser(database: Database, organizationId: string, id: string): Promise<ScimUserRow> {
  return database.transaction({ organizationId }, (tx) => loadScimUser(tx, organizationId, id));
}

/**
 * Creates a user with the role viewer. A user that the provider has deleted gets the account back, but not its
 * password, keys and factors, because the address may belong to another person now.
 */
export async function createScimUser(
  tx: Transaction,
  organizationId: string,
  { change, passwordHash }: { change: ScimUserChange & { userName: string }; passwordHash: string },
): Promise<ScimUserRow> {
  const [known] = await tx.query<UserEntity & Pick<ScimUserEntity, 'deletedAt'>>(
    `SELECT u.*, s.deleted_at FROM app_user u LEFT JOIN scim_user s ON s.user_id = u.id
     WHERE u.organization_id = $1 AND u.email = $2 FOR UPDATE OF u`,
    [organizationId, change.userName],
  );
  if (known && !(known.disabled && known.deletedAt)) throw userNameTakenError();
  const actor = buildScimActor(organizationId);
  const user =
    known ?? (await insertUser(tx, actor, { organizationId, email: change.userName, role: 'viewer', passwordHash }));
  const disabled = change.active === false;
  if (known) {
    await removeAllSecondFactors(tx, known);
    await deleteSignInAddresses(tx, known.id);
    await deleteLinks(tx, known.id);
    await tx.execute('UPDATE app_user SET password_hash = $2 WHERE id = $1', [known.id, passwordHash]);
    await saveUserAttributes(tx, known, change, { deletedAt: null });
    await applyGroupRoles(tx, organizationId, [known.id]);
    const changes = { disabled: [true, disabled], passwordChanged: true };
    audit(tx, actor, { action: 'user.update', target: { type: 'user', id: known.id }, changes });
  } else {
    await saveUserAttributes(tx, user, change, { deletedAt: null });
  }
  if (disabled !== user.disabled)
    await tx.execute('UPDATE app_user SET disabled = $2 WHERE id = $1', [user.id, disabled]);
  return loadScimUser(tx, organizationId, user.id);
}

/** Changes the address, `active` and the names of a user. A disabled user is signed out at once. */
export async function updateScimUser(
  tx: Transaction,
  organizationId: string,
  { id, change }: { id: string; change: ScimUserChange },
): Promise<ScimUserRow> {
  const user = await loadScimUser(tx, organizationId, id, 'lock');
  await requireChangeableUser(tx, user);
  const email = change.userName ?? user.email;
  const disabled = change.active === undefined ? user.disabled : !change.active;
  if (email !== user.email) await saveUserEmail(tx, user.id, email);
  if (disabled !== user.disabled) await setUserDisabled(tx, user, disabled);
  await saveUserAttributes(tx, user, change);
  const changes = {
    ...(disabled === user.disabled ? {} : { disabled: [user.disabled, disabled] }),
    ...(email === user.email ? {} : { email: [user.email, email] }),
    ...listChangedFields(user, pickUserAttributes(change)),
  };
  if (Object.keys(changes).length > 0) {
    audit(tx, buildScimActor(organizationId), {
      action: disabled && !user.disabled ? 'user.disable' : 'user.update',
      target: { type: 'user', id: user.id },
      changes,
    });
  }
  return loadScimUser(tx, organizationId, user.id);
}

/** Disables a user and hides the account from the provider. The account stays, because records refer to it. */
export async function deleteScimUser(tx: Transaction, organizationId: string, id: string): Promise<void> {
  const user = await loadScimUser(tx, organizationId, id, 'lock');
  await requireChangeableUser(tx, user);
  if (!user.disabled) await setUserDisabled(tx, user, true);
  await tx.execute('DELETE FROM scim_group_member WHERE user_id = $1 AND organization_id = $2', [
    user.id,
    organizationId,
  ]);
  await saveUserAttributes(tx, user, {}, { deletedAt: tx.now });
  const changes = { disabled: [user.disabled, true] };
  audit(tx, buildScimActor(organizationId), { action: 'user.disable', target: { type: 'user', id: user.id }, changes });
}

async function setUserDisabled(tx: Transaction, user: ScimUserRow, disabled: boolean): Promise<void> {
  if (disabled && user.role === 'admin') await requireAnotherAdmin(tx, user);
  await tx.execute('UPDATE app_user SET disabled = $2 WHERE id = $1', [user.id, disabled]);
  if (!disabled) return;
  await endOtherSessionsOfUser(tx, user.id);
  await revokeKeysOfUser(tx, user);
  await dropCachedPrincipals(tx);
}

async function saveUserEmail(tx: Transaction, id: string, email: string): Promise<void> {
  try {
    await tx.execute('UPDATE app_user SET email = $2 WHERE id = $1', [id, email]);
  } catch (error) {
    if (getViolatedConstraint(error) !== 'app_user_email_key') throw error;
    throw userNameTakenError();
  }
  // A mailed link belongs to the address that it was sent to.
  await tx.execute('DELETE FROM account_link WHERE user_id = $1', [id]);
  await dropCachedPrincipals(tx);
}

async function saveUserAttributes(
  tx: Transaction,
  user: Pick<UserEntity, 'id' | 'organizationId'> & Partial<Attributes>,
  change: ScimUserChange,
  { deletedAt }: { deletedAt?: Date | null } = {},
): Promise<void> {
  const {
    externalId = null,
    displayName = null,
    givenName = null,
    familyName = null,
  } = {
    ...user,
    ...pickUserAttributes(change),
  };
  await tx.execute(
    `INSERT INTO scim_user
       (user_id, organization_id, external_id, display_name, given_name, family_name, deleted_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (user_id) DO UPDATE
     SET external_id = excluded.external_id, display_name = excluded.display_name, given_name = excluded.given_name,
         family_name = excluded.family_name, updated_at = excluded.updated_at,
         deleted_at = CASE WHEN $9 THEN excluded.deleted_at ELSE scim_user.deleted_at END`,
    [
      ...[user.id, user.organizationId, externalId, displayName, givenName, familyName, deletedAt ?? null, tx.now],
      deletedAt !== undefined,
    ],
  );
}

function pickUserAttributes({ externalId, displayName, givenName, familyName }: ScimUserChange): Partial<Attributes> {
  return Object.fromEntries(
    Object.entries({ externalId, displayName, givenName, familyName }).filter(([, value]) => value !== undefined),
  );
}

async function loadScimUser(tx: Transaction, organizationId: string, id: string, lock?: 'lock'): Promise<ScimUserRow> {
  const [user] = isUuid(id)
    ? await tx.query<ScimUserRow>(`SELECT ${columns} FROM ${visible} AND u.id = $2 ${lock ? 'FOR UPDATE OF u' : ''}`, [
        organizationId,
        id,
      ])
    : [];
  if (!user) throw new AppError('not_found', { detail: 'There is no user with this id.' });
  return user;
}

async function requireChangeableUser(tx: Transaction, { organizationId, role }: ScimUserRow): Promise<void> {
  if (role === 'super_admin') {
    throw new AppError('permission_denied', {
      detail: 'This user has rights over other organizations, so an identity provider cannot change the account.',
    });
  }
  const limit = await loadTokenLimit(tx, organizationId);
  const holder = limit && (await loadRole(tx, organizationId, role));
  if (!holder || hasPermissionsOf(limit, holder)) return;
  throw new AppError('permission_denied', {
    detail: 'This user has permissions that the creator of the SCIM token did not have. Let an admin create the token.',
  });
}

function userNameTakenError(): AppError {
  return scimError('uniqueness', 'An account with this userName already exists.');
}
