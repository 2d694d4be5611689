import {
  getLowestRole,
  hasPermission,
  hasPermissionsOf,
  listPermissions,
  ownRolePermissions,
  permissions,
} from './permissions';
import { roles } from './roles';

const ofViewers = [
  ...['runs.read', 'workflows.read', 'packs.read', 'schedules.read', 'agents.read', 'assistant.use', 'alerts.read'],
  ...['costs.read', 'feedback.read', 'feedback.write'],
];
const ofMembers = [
  ...['runs.write', 'runs.screens', 'workflows.write', 'packs.write', 'schedules.write', 'agents.control'],
  'alerts.write',
];
const ofAdmins = [
  ...['packs.release', 'agents.admin', 'pricing.write', 'feedback.admin', 'vault.write', 'keys.admin', 'users.admin'],
  ...['settings.admin', 'webhooks.admin', 'audit.read'],
];

describe('permissions of roles', () => {
  it('each of the four roles has the permissions of the roles below it and its own', () => {
    const sorted = (list: readonly string[]) => [...list].sort();
    expect(sorted(listPermissions({ role: 'viewer' }))).toEqual(sorted(ofViewers));
    expect(sorted(listPermissions({ role: 'member' }))).toEqual(sorted([...ofViewers, ...ofMembers]));
    const all = [...ofViewers, ...ofMembers, ...ofAdmins];
    expect(sorted(listPermissions({ role: 'admin' }))).toEqual(sorted(all));
    expect(sorted(listPermissions({ role: 'super_admin' }))).toEqual(sorted([...all, 'platform.admin']));
    expect(permissions.filter((each) => getLowestRole(each) === null)).toEqual(['work.report']);
  });

  it('a role that an organization made can have every permission of an admin, and no other', () => {
    expect(ownRolePermissions).toEqual(listPermissions({ role: 'admin' }));
  });

  it('a role that an organization made has exactly its listed permissions, and an unknown role name has none', () => {
    const holder = { role: 'Front desk', ownPermissions: ['runs.read', 'costs.read'] as const };
    expect(permissions.filter((each) => hasPermission(holder, each))).toEqual(['runs.read', 'costs.read']);
    expect(listPermissions({ role: 'Front desk' })).toEqual([]);
    expect(listPermissions({ role: '__proto__' })).toEqual([]);
    // The permissions of the four roles do not depend on rows of the database.
    expect(listPermissions({ role: 'viewer', ownPermissions: ['users.admin'] })).not.toContain('users.admin');
  });

  it('a role includes another role only if it has all permissions of that role', () => {
    const allButOne = listPermissions({ role: 'viewer' }).slice(1);
    expect(hasPermissionsOf({ role: 'own', ownPermissions: allButOne }, { role: 'viewer' })).toBe(false);
    expect(
      hasPermissionsOf({ role: 'own', ownPermissions: listPermissions({ role: 'viewer' }) }, { role: 'viewer' }),
    ).toBe(true);
    for (const [rank, role] of roles.entries()) {
      expect(roles.filter((other) => hasPermissionsOf({ role }, { role: other }))).toEqual(roles.slice(0, rank + 1));
    }
  });
});
