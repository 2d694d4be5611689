import { hasPermissionsOf, type RoleHolder } from '@muster/contracts';
import type { OrganizationSsoEntity, Transaction, UserEntity } from '@muster/database';
import { chooseHighestRole, listProvidableRoles } from '../users/provided-roles';
import { setReportedRole } from '../users/users';
import { buildScimActor } from './scim-actor';
import { loadTokenLimit } from './scim-tokens';

type GroupUser = Pick<UserEntity, 'id' | 'organizationId' | 'role' | 'disabled'>;

/** Sets the roles of users whose groups have changed; of all members of groups if `userIds` is null. */
export async function applyGroupRoles(
  tx: Transaction,
  organizationId: string,
  userIds: readonly string[] | null,
): Promise<void> {
  // The order of the ids keeps concurrent changes from a deadlock.
  const users = await tx.query<GroupUser>(
    `SELECT id, organization_id, role, disabled FROM app_user
     WHERE organization_id = $1 AND role <> 'super_admin' AND
       CASE WHEN $2::uuid[] IS NULL THEN id IN (SELECT user_id FROM scim_group_member WHERE organization_id = $1)
            ELSE id = ANY($2) END
     ORDER BY id FOR UPDATE`,
    [organizationId, userIds],
  );
  if (users.length === 0) return;
  const memberships = await tx.query<{ userId: string; displayName: string }>(
    `SELECT m.user_id, g.display_name FROM scim_group_member m JOIN scim_group g ON g.id = m.group_id
     WHERE m.organization_id = $1 AND m.user_id = ANY($2)`,
    [organizationId, users.map(({ id }) => id)],
  );
  const limit = await loadTokenLimit(tx, organizationId);
  const roles = await listProvidableRoles(tx, organizationId);
  const isBeyondLimit = (holder: RoleHolder | undefined) => limit && holder && !hasPermissionsOf(limit, holder);
  const rolesOf = await makeRoleMatcher(tx, organizationId, roles);
  for (const user of users) {
    const groups = memberships.filter(({ userId }) => userId === user.id).map(({ displayName }) => displayName);
    const holder = chooseHighestRole(groups.flatMap(rolesOf).filter((each) => !isBeyondLimit(each)));
    if (isBeyondLimit(roles.find(({ role }) => role === user.role))) continue;
    if (holder.role !== user.role) await setReportedRole(tx, user, holder, buildScimActor(organizationId));
  }
}

/** Returns a function that returns the role of a group: that of `roleMap`, otherwise the role with the group's name. */
async function makeRoleMatcher(
  tx: Transaction,
  organizationId: string,
  roles: readonly RoleHolder[],
): Promise<(group: string) => RoleHolder[]> {
  const [sso] = await tx.query<Pick<OrganizationSsoEntity, 'roleMap'>>(
    'SELECT role_map FROM organization_sso WHERE organization_id = $1',
    [organizationId],
  );
  const map = sso?.roleMap ?? {};
  return (group) => {
    const name = (Object.hasOwn(map, group) ? map[group]! : group).toLowerCase();
    return roles.filter(({ role }) => role.toLowerCase() === name);
  };
}
