import { openApiDocument, ownRolePermissions, type Permission, roles } from '@muster/contracts';
import { type Harness, type HttpClient, makeUser, startHarness, type Tenant, testPassword } from '@muster/testing';
import { standalone } from './standalone';
import { fillPath, listOperations, type Operation, addQuery } from './walk-openapi';

/**
 * Calls every documented route as every built-in role, and as roles of the organization with and without its
 * permission.
 */
describe('permissions of every route', () => {
  let harness: Harness;
  let tenant: Tenant;
  let permissionsOf: Record<string, Permission[]>;

  beforeAll(async () => {
    harness = await startHarness(standalone);
    tenant = await harness.makeTenant();
    const { body } = await tenant.as.viewer.get('/api/roles');
    permissionsOf = Object.fromEntries(
      body.roles.map((role: { name: string; permissions: Permission[] }) => [role.name, role.permissions]),
    );
  });
  afterAll(() => harness.close());

  const all = listOperations(openApiDocument);
  // The guard decides before it reads the body, so an invalid body is sufficient. Routes that end the caller's session,
  // such as signing out, are left out, and so is the organization's event stream, whose response does not end.
  const walked = all.filter(
    ({ access, path }) => typeof access === 'object' && !path.startsWith('/api/auth/') && path !== '/api/events',
  );
  const isRefused = async (client: HttpClient, operation: Operation) => {
    const path = addQuery(fillPath(operation.path), operation);
    const { status, body } = await client.send(operation.method, path, operation.body ? '[]' : undefined);
    return status === 403 && body.code === 'permission_denied';
  };
  const formatOperationName = ({ method, path }: Operation) => `${method} ${path}`;
  const listRefused = async (client: HttpClient, operations: Operation[]) => {
    const refused: string[] = [];
    for (const each of operations) if (await isRefused(client, each)) refused.push(formatOperationName(each));
    return refused;
  };

  it('every route documents its permission, and few routes besides those of auth and admin need none', () => {
    expect(all.filter(({ permission }) => permission === undefined).map(formatOperationName)).toEqual([]);
    const others = all.filter(({ path }) => !/^\/api\/(auth|admin)\//.test(path));
    const open = others.filter(({ permission }) => permission === null);
    expect(open.length / others.length).toBeLessThanOrEqual(0.15);
    expect(open.filter(({ access }) => typeof access === 'object').map(formatOperationName)).toEqual([
      'GET /api/events',
      'GET /api/organization/settings',
      'GET /api/roles',
      'GET /api/users',
      'GET /api/users/{id}',
    ]);
  });

  it.each(roles)('a %s is refused exactly the routes whose permission the role does not have', async (role) => {
    const expected = walked.filter(({ permission }) => permission && !permissionsOf[role]!.includes(permission));
    expect(await listRefused(tenant.as[role], walked)).toEqual(expected.map(formatOperationName));
  });

  it('a role with only the permission of a route may call the route, and a role without that permission may not', async () => {
    const signInAs = async (role: string) => {
      const created = await tenant.as.admin.post('/api/roles', { name: role, permissions: ['runs.read'] });
      expect(created.status).toBe(201);
      const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId, role });
      return harness.http.signIn(email, testPassword);
    };
    const setRolePermissions = async (role: string, permissions: Permission[]) =>
      expect((await tenant.as.admin.patch(`/api/roles/${role}`, { permissions })).status).toBe(200);
    const [only, without] = [await signInAs('only'), await signInAs('without')];
    const used = new Set(walked.map(({ permission }) => permission));
    // Promoting a version needs packs.write, and for some stages packs.release as well.
    expect(ownRolePermissions.filter((permission) => !used.has(permission))).toEqual(['packs.release']);
    for (const permission of ownRolePermissions) {
      await setRolePermissions('only', [permission]);
      await setRolePermissions(
        'without',
        ownRolePermissions.filter((each) => each !== permission),
      );
      const ofPermission = walked.filter((operation) => operation.permission === permission);
      expect([permission, await listRefused(only, ofPermission)]).toEqual([permission, []]);
      expect(await listRefused(without, ofPermission)).toEqual(ofPermission.map(formatOperationName));
    }
  });
});
