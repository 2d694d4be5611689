import { type Role, roles } from './roles';

/**
 * All permissions, each with the lowest of the four roles that has it; the roles above it have it too. Null if none of
 * the four has it. Each route names the permission that it needs. `platform.admin` and `work.report` cannot be part of an
 * organization's own role: the first reaches beyond the organization, and the second belongs to worker keys.
 */
const lowestRoles = {
  'runs.read': 'viewer',
  'runs.write': 'member',
  'runs.screens': 'member',
  'workflows.read': 'viewer',
  'workflows.write': 'member',
  'packs.read': 'viewer',
  'packs.write': 'member',
  'packs.release': 'admin',
  'schedules.read': 'viewer',
  'schedules.write': 'member',
  'agents.read': 'viewer',
  'agents.control': 'member',
  'agents.admin': 'admin',
  'assistant.use': 'viewer',
  'alerts.read': 'viewer',
  'alerts.write': 'member',
  'costs.read': 'viewer',
  'pricing.write': 'admin',
  'feedback.read': 'viewer',
  'feedback.write': 'viewer',
  'feedback.admin': 'admin',
  'vault.write': 'admin',
  'keys.admin': 'admin',
  'users.admin': 'admin',
  'settings.admin': 'admin',
  'webhooks.admin': 'admin',
  'audit.read': 'admin',
  'platform.admin': 'super_admin',
  'work.report': null,
} as const satisfies Record<string, Role | null>;

export type Permission = keyof typeof lowestRoles;

export const permissions = Object.keys(lowestRoles) as Permission[];

/** Permissions that can be part of an organization's own role. */
export const ownRolePermissions = permissions.filter((each) => !['platform.admin', 'work.report'].includes(each));

/** Somebody with a role. */
export interface RoleHolder {
  /** One of the four roles, or the name of an own role of the organization. */
  role: string;
  /** The permissions of an own role; absent for one of the four roles. */
  ownPermissions?: readonly Permission[] | undefined;
}

/** Whether the name is one of the four roles. */
export function isBuiltInRole(name: string): name is Role {
  return (roles as readonly string[]).includes(name);
}

/** Returns the lowest of the four roles that has the permission; null if none has it. */
export function getLowestRole(permission: Permission): Role | null {
  return lowestRoles[permission];
}

const permissionsOfRoles = Object.fromEntries(
  roles.map((role, rank) => [
    role,
    permissions.filter((permission) => {
      const from = lowestRoles[permission];
      return from !== null && rank >= roles.indexOf(from);
    }),
  ]),
) as Record<Role, Permission[]>;

/** Returns the permissions of a role; none for a name that is not one of the four roles and has no own permissions. */
export function listPermissions({ role, ownPermissions }: RoleHolder): readonly Permission[] {
  if (isBuiltInRole(role)) return permissionsOfRoles[role];
  return ownPermissions ?? [];
}

export function hasPermission(holder: RoleHolder, permission: Permission): boolean {
  return listPermissions(holder).includes(permission);
}

/** Whether the holder has every permission that the other one has. */
export function hasPermissionsOf(holder: RoleHolder, other: RoleHolder): boolean {
  const own = listPermissions(holder);
  return listPermissions(other).every((permission) => own.includes(permission));
}
