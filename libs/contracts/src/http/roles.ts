/** Roles in ascending order. Each role includes the permissions of the roles before it. */
export const roles = ['viewer', 'member', 'admin', 'super_admin'] as const;
export type Role = (typeof roles)[number];
