/** From least to most; a role includes what the ones before it may do. */
export const roles = ['viewer', 'member', 'admin', 'super_admin'] as const;
export type Role = (typeof roles)[number];

/** The roles that an organization's own admin hands out. */
export const organizationRoles = ['viewer', 'member', 'admin'] as const;

export function hasRole(actual: Role, needed: Role): boolean {
  return roles.indexOf(actual) >= roles.indexOf(needed);
}
