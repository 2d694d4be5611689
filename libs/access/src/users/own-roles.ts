import {
  AppError,
  type CreateOwnRoleBody,
  hasPermission,
  hasPermissionsOf,
  invalidFieldError,
  isBuiltInRole,
  listPermissions,
  maxOwnRoles,
  notFoundError,
  type OwnRole,
  type Permission,
  type RoleHolder,
  roles,
} from '@muster/contracts';
import {
  acquireAdvisoryLock,
  type Database,
  getViolatedConstraint,
  OwnRoleEntity,
  type Transaction,
  type UserEntity,
} from '@muster/database';
import { downgradeKeysOfUsers } from '../api-keys/user-keys';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import type { Principal } from '../principal';

/** Lists the four roles, and then the organization's own roles by name. */
export async function listRoles(database: Database, organizationId: string): Promise<OwnRole[]> {
  return database.transaction({ organizationId }, async (tx) => {
    const counts = await tx.query<{ role: string; users: number }>(
      'SELECT role, count(*)::integer AS users FROM app_user WHERE organization_id = $1 GROUP BY role',
      [organizationId],
    );
    const own = await tx.query<Pick<OwnRoleEntity, 'name' | 'permissions'>>(
      'SELECT name, permissions FROM own_role WHERE organization_id = $1 ORDER BY lower(name)',
      [organizationId],
    );
    const countUsers = (name: string) => counts.find(({ role }) => role === name)?.users ?? 0;
    return [
      ...roles.map((name) => ({
        name,
        permissions: [...listPermissions({ role: name })],
        builtIn: true,
        users: countUsers(name),
      })),
      ...own.map(({ name, permissions }) => ({ name, permissions, builtIn: false, users: countUsers(name) })),
    ];
  });
}

export async function createOwnRole(
  tx: Transaction,
  caller: Principal,
  { name, permissions }: CreateOwnRoleBody,
): Promise<OwnRole> {
  const { organizationId } = caller;
  if (isBuiltInRole(name.toLowerCase()))
    throw invalidFieldError('name', `${name} is one of the four roles that every organization has`);
  requireOwnPermissions(caller, permissions);
  // Concurrent requests would otherwise count the same roles and exceed the maximum together.
  await acquireAdvisoryLock(tx, 'own roles', organizationId);
  const [count] = await tx.query<{ roles: number }>(
    'SELECT count(*)::integer AS roles FROM own_role WHERE organization_id = $1',
    [organizationId],
  );
  if (count!.roles >= maxOwnRoles)
    throw new AppError('conflict', { detail: `An organization has at most ${maxOwnRoles} roles of its own.` });
  try {
    await tx.manager.insert(OwnRoleEntity, { organizationId, name, permissions });
  } catch (error) {
    if (!['own_role_name_key', 'own_role_pkey'].includes(getViolatedConstraint(error) ?? '')) throw error;
    throw new AppError('conflict', {
      detail: 'The organization has a role with this name already.',
      errors: [{ field: 'name', message: 'name is taken' }],
    });
  }
  audit(tx, caller, { action: 'role.create', target: { type: 'role', id: name }, changes: { permissions } });
  return { name, permissions, builtIn: false, users: 0 };
}

/** Replaces the permissions of a role. They apply to the next request of each of its users. */
export async function updateOwnRole(
  tx: Transaction,
  caller: Principal,
  name: string,
  permissions: Permission[],
): Promise<OwnRole> {
  const { organizationId } = caller;
  const before = await lockChangeableRole(tx, caller, name);
  requireOwnPermissions(caller, permissions);
  await tx.execute(
    'UPDATE own_role SET permissions = $3, updated_at = muster_now() WHERE organization_id = $1 AND name = $2',
    [organizationId, name, permissions],
  );
  const users = await listUserIdsOfRole(tx, organizationId, name);
  await downgradeKeysOfUsers(tx, organizationId, users, { role: name, ownPermissions: permissions });
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: 'role.update',
    target: { type: 'role', id: name },
    changes: { permissions: [before, permissions] },
  });
  return { name, permissions, builtIn: false, users: users.length };
}

/** Deletes a role that no user has, and the open invitations to it. */
export async function deleteOwnRole(tx: Transaction, caller: Principal, name: string): Promise<void> {
  const { organizationId } = caller;
  const permissions = await lockChangeableRole(tx, caller, name);
  const users = await listUserIdsOfRole(tx, organizationId, name);
  if (users.length > 0) {
    throw new AppError('conflict', {
      detail: `Users with this role: ${users.length}. Give them another role before you delete this one.`,
    });
  }
  await requireUnmappedRole(tx, organizationId, name);
  const invitations = await tx.execute('DELETE FROM account_link WHERE organization_id = $1 AND role = $2', [
    organizationId,
    name,
  ]);
  await tx.execute('DELETE FROM own_role WHERE organization_id = $1 AND name = $2', [organizationId, name]);
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: 'role.delete',
    target: { type: 'role', id: name },
    changes: { permissions, ...(invitations ? { deletedInvitations: invitations } : {}) },
  });
}

/** Throws if the identity provider gives the role. Its users would become viewers without a notice. */
async function requireUnmappedRole(tx: Transaction, organizationId: string, name: string): Promise<void> {
  const mapping = await tx.query(
    `SELECT 1 FROM organization_sso
     WHERE organization_id = $1 AND EXISTS (SELECT FROM jsonb_each_text(role_map) AS entry WHERE entry.value = $2)
     FOR SHARE`,
    [organizationId, name],
  );
  if (mapping.length === 0) return;
  throw new AppError('conflict', {
    detail: 'Single sign-on gives this role to users. Remove it from the role map of single sign-on first.',
  });
}

/**
 * Returns the permissions of a role that a user has or will get; null if the organization has no role of this name. An
 * own role is locked against changes until the transaction ends.
 */
export async function loadRole(tx: Transaction, organizationId: string, role: string): Promise<RoleHolder | null> {
  if (isBuiltInRole(role)) return { role };
  const [own] = await tx.query<Pick<OwnRoleEntity, 'permissions'>>(
    'SELECT permissions FROM own_role WHERE organization_id = $1 AND name = $2 FOR SHARE',
    [organizationId, role],
  );
  return own ? { role, ownPermissions: own.permissions } : null;
}

/** Returns the role that the caller wants to give. Throws if it does not exist or has more permissions than the caller. */
export async function loadGrantableRole(tx: Transaction, caller: Principal, role: string): Promise<RoleHolder> {
  const requested = await loadRole(tx, caller.organizationId, role);
  if (!requested) {
    throw invalidFieldError('role', `the organization has no role ${role}`, 'There is no role with this name.');
  }
  if (hasPermissionsOf(caller, requested)) return requested;
  throw new AppError('permission_denied', {
    detail: `The role ${role} has permissions that you do not have yourself, so you cannot give it.`,
  });
}

function requireOwnPermissions(caller: Principal, permissions: readonly Permission[]): void {
  const lacking = permissions.filter((permission) => !hasPermission(caller, permission));
  if (lacking.length === 0) return;
  throw new AppError('permission_denied', {
    detail: `You can give only permissions that you have yourself. You do not have: ${lacking.join(', ')}.`,
  });
}

/** Locks a role and returns its permissions. Throws if it has permissions that the caller does not have. */
async function lockChangeableRole(tx: Transaction, caller: Principal, name: string): Promise<Permission[]> {
  if (isBuiltInRole(name))
    throw invalidFieldError('name', `${name} is one of the four roles that every organization has`);
  const [role] = await tx.query<Pick<OwnRoleEntity, 'permissions'>>(
    'SELECT permissions FROM own_role WHERE organization_id = $1 AND name = $2 FOR UPDATE',
    [caller.organizationId, name],
  );
  if (!role) throw notFoundError('role');
  requireOwnPermissions(caller, role.permissions);
  return role.permissions;
}

async function listUserIdsOfRole(tx: Transaction, organizationId: string, name: string): Promise<string[]> {
  const users = await tx.query<Pick<UserEntity, 'id'>>(
    'SELECT id FROM app_user WHERE organization_id = $1 AND role = $2',
    [organizationId, name],
  );
  return users.map(({ id }) => id);
}
