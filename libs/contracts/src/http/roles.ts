/** Roles in ascending order. Each role includes the permissions of the roles before it. */
export const roles = ['viewer', 'member', 'admin', 'super_admin'] as const;
export type Role = (typeof roles)[number];

/** Roles that have no rights over other organizations. */
export const organizationRoles = ['viewer', 'member', 'admin'] as const satisfies readonly Role[];
