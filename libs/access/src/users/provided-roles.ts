import { listPermissions, organizationRoles, type RoleHolder } from '@muster/contracts';
import type { OwnRoleEntity, Transaction } from '@muster/database';

/** Returns the roles that an identity provider can give: all of the organization, but never super_admin. */
export async function listProvidableRoles(tx: Transaction, organizationId: string): Promise<RoleHolder[]> {
  const own = await tx.query<Pick<OwnRoleEntity, 'name' | 'permissions'>>(
    'SELECT name, permissions FROM own_role WHERE organization_id = $1 ORDER BY name FOR SHARE',
    [organizationId],
  );
  return [
    ...organizationRoles.map((role) => ({ role })),
    ...own.map(({ name, permissions }) => ({ role: name, ownPermissions: permissions })),
  ];
}

/** Returns the role with the most permissions; viewer if there is none. */
export function chooseHighestRole(holders: readonly RoleHolder[]): RoleHolder {
  return holders.reduce<RoleHolder>(
    (highest, each) => (listPermissions(each).length > listPermissions(highest).length ? each : highest),
    holders[0] ?? { role: 'viewer' },
  );
}
