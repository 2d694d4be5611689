/** Roles in ascending order. Each role includes the permissions of the roles before it. */
export const roles = ['viewer', 'member', 'admin', 'super_admin'] as const;
export type Role = (typeof roles)[number];

/** Roles that an admin of an organization can assign. */
export const organizationRoles = ['viewer', 'member', 'admin'] as const;

export function hasRole(actual: Role, needed: Role): boolean {
  return roles.indexOf(actual) >= roles.indexOf(needed);
}
