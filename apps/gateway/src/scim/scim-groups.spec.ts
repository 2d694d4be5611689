import { listPermissions, scimSchemas } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, type HttpClient, makeUser, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { groupsPath, toPatch, startProvider, usersPath } from './scim.harness';

describe('groups that an identity provider manages', () => {
  let harness: Harness;
  let tenant: Tenant;
  let scim: HttpClient;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    scim = await startProvider(harness.http, tenant);
  });

  const makeMember = (role = 'viewer') => makeUser(harness.db, { organizationId: tenant.organizationId, role });
  const createGroup = async (displayName: string, ids: string[] = []) => {
    const members = ids.map((value) => ({ value }));
    const answer = await scim.post(groupsPath, { schemas: [scimSchemas.group], displayName, members });
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    return answer.body;
  };
  const readUserRole = async (id: string) => (await tenant.as.admin.get(`/api/users/${id}`)).body.role;
  const patchGroup = async (id: string, ...operations: object[]) => {
    const answer = await scim.patch(`${groupsPath}/${id}`, toPatch(...operations));
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer.body;
  };
  const setRoleMap = async (roleMap: Record<string, string> | null) => {
    const provider = { issuer: 'https://acme.test', clientId: 'muster', clientSecret: 'secret', domains: [] };
    const body = { ...provider, roleClaim: 'groups', roleMap, enforced: false };
    const { status, text } = await tenant.as.admin.put('/api/organization/sso', body);
    expect([status, text]).toEqual([200, expect.any(String)]);
  };

  it('a group that Okta manages assigns the role with its name to its members, and removes it when they leave', async () => {
    const [dana, sam] = [await makeMember(), await makeMember('member')];
    const group = await createGroup('Admin', [dana.id]);
    expect(group).toEqual({
      schemas: [scimSchemas.group],
      id: expect.any(String),
      displayName: 'Admin',
      members: [{ value: dana.id, display: dana.email }],
      meta: expect.objectContaining({ resourceType: 'Group', location: expect.stringContaining(group.id) }),
    });
    expect([await readUserRole(dana.id), await readUserRole(sam.id)]).toEqual(['admin', 'member']);
    await patchGroup(group.id, { op: 'add', path: 'members', value: [{ value: sam.id, display: sam.email }] });
    expect(await readUserRole(sam.id)).toBe('admin');
    expect((await scim.get(`${usersPath}/${sam.id}`)).body.groups).toEqual([{ value: group.id, display: 'Admin' }]);
    const left = await patchGroup(group.id, { op: 'remove', path: `members[value eq "${dana.id}"]` });
    expect(left.members).toEqual([{ value: sam.id, display: sam.email }]);
    expect([await readUserRole(dana.id), await readUserRole(sam.id)]).toEqual(['viewer', 'admin']);
    expect((await scim.delete(`${groupsPath}/${group.id}`)).status).toBe(204);
    expect([await readUserRole(sam.id), (await scim.get(`${groupsPath}/${group.id}`)).status]).toEqual(['viewer', 404]);
    const { entries } = (await tenant.as.admin.get(`/api/audit?targetId=${sam.id}`)).body;
    expect(
      entries.map(({ actor, changes }: { actor: { id: string }; changes: object }) => [actor.id, changes]),
    ).toEqual([
      ['scim', { role: ['admin', 'viewer'] }],
      ['scim', { role: ['member', 'admin'] }],
    ]);
  });

  it('a group can be read without its members, and changed by operations as Entra spells them', async () => {
    const [dana, sam] = [await makeMember(), await makeMember()];
    const { id } = await createGroup('member');
    const query = `excludedAttributes=members&filter=${encodeURIComponent('displayName eq "MEMBER"')}`;
    const found = (await scim.get(`${groupsPath}?${query}`)).body;
    expect(found).toMatchObject({ totalResults: 1, Resources: [{ id, displayName: 'member' }] });
    expect(found.Resources[0]).not.toHaveProperty('members');
    const added = { op: 'Add', path: 'members', value: [{ $ref: null, value: dana.id }, { value: sam.id }] };
    expect((await patchGroup(id, added)).members).toHaveLength(2);
    expect((await patchGroup(id, added)).members).toHaveLength(2);
    expect([await readUserRole(dana.id), await readUserRole(sam.id)]).toEqual(['member', 'member']);
    await patchGroup(id, { op: 'Remove', path: 'members', value: [{ $ref: null, value: dana.id }] });
    expect([await readUserRole(dana.id), await readUserRole(sam.id)]).toEqual(['viewer', 'member']);
    await patchGroup(id, { op: 'Replace', path: 'displayName', value: 'Everybody' });
    expect(await readUserRole(sam.id)).toBe('viewer');
    const memberFilter = encodeURIComponent(`members.value eq "${sam.id}"`);
    expect((await scim.get(`${groupsPath}?filter=${memberFilter}`)).body.totalResults).toBe(1);
    await patchGroup(id, { op: 'Remove', path: 'members' });
    expect((await scim.get(`${groupsPath}?filter=${memberFilter}`)).body.totalResults).toBe(0);
  });

  it('the role map selects the role of a SCIM group; of several groups, the role with the most permissions counts', async () => {
    const role = { name: 'Front desk', permissions: [...listPermissions({ role: 'viewer' }), 'audit.read'] };
    expect((await tenant.as.admin.post('/api/roles', role)).status).toBe(201);
    await setRoleMap({ 'Muster staff': 'member', Desk: 'Front desk', admin: 'viewer' });
    const { id } = await makeMember('member');
    await createGroup('Desk', [id]);
    expect(await readUserRole(id)).toBe('Front desk');
    const staff = await createGroup('Muster staff', [id]);
    expect(await readUserRole(id)).toBe('member');
    const named = await createGroup('admin', [id]);
    const root = await createGroup('super_admin', [id]);
    expect(await readUserRole(id)).toBe('member');
    await patchGroup(staff.id, { op: 'remove', path: 'members' });
    expect(await readUserRole(id)).toBe('Front desk');
    expect((await tenant.as.admin.delete('/api/roles/Front%20desk')).status).toBe(409);
    await setRoleMap({ Desk: 'viewer', admin: 'viewer' });
    expect(await readUserRole(id)).toBe('viewer');
    await setRoleMap(null);
    expect(await readUserRole(id)).toBe('admin');
    await patchGroup(named.id, { op: 'replace', path: 'members', value: [] });
    await patchGroup(root.id, { op: 'replace', value: { id: root.id, displayName: 'front DESK' } });
    expect(await readUserRole(id)).toBe('Front desk');
  });

  it('a role that the role map contains cannot be deleted, even if no user has it', async () => {
    const role = { name: 'Desk', permissions: ['runs.read'] };
    expect((await tenant.as.admin.post('/api/roles', role)).status).toBe(201);
    await setRoleMap({ Reception: 'Desk' });
    const refused = await tenant.as.admin.delete('/api/roles/Desk');
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('role map') } });
    await setRoleMap({ Reception: 'viewer' });
    expect((await tenant.as.admin.delete('/api/roles/Desk')).status).toBe(204);
  });

  it('replacing a SCIM group sets exactly its members, and the last admin stays an admin', async () => {
    const { users } = (await tenant.as.admin.get('/api/users')).body;
    const admin = users.find(({ role }: { role: string }) => role === 'admin');
    const root = users.find(({ role }: { role: string }) => role === 'super_admin');
    const dana = await makeMember();
    const { id } = await createGroup('viewer', [dana.id]);
    const body = { displayName: 'viewer', members: [{ value: root.id }, { value: admin.id }] };
    const replaced = await scim.put(`${groupsPath}/${id}`, body);
    expect(replaced.body.members.map(({ value }: { value: string }) => value).sort()).toEqual(
      [admin.id, root.id].sort(),
    );
    expect([await readUserRole(root.id), await readUserRole(admin.id)]).toEqual(['super_admin', 'viewer']);
    await harness.db.query('system', "UPDATE app_user SET role = 'viewer' WHERE id = $1", [root.id]);
    await harness.db.query('system', "UPDATE app_user SET role = 'admin' WHERE id = $1", [admin.id]);
    await patchGroup(id, { op: 'replace', path: 'displayName', value: 'Readers' });
    expect(await readUserRole(admin.id)).toBe('admin');
  });

  it('two concurrent changes of the SCIM groups of one user result in the higher role', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await makeMember();
      const groups = await Promise.all(['Admin', 'Member'].map((name) => findOrCreate(name)));
      await Promise.all(
        groups.map((group) => patchGroup(group, { op: 'add', path: 'members', value: [{ value: id }] })),
      );
      expect(await readUserRole(id)).toBe('admin');
    }
  });
  const findOrCreate = async (name: string) => {
    const { Resources } = (await scim.get(`${groupsPath}?filter=${encodeURIComponent(`displayName eq "${name}"`)}`))
      .body;
    return (Resources[0]?.id ?? (await createGroup(name)).id) as string;
  };

  it('a user that the identity provider deletes leaves all SCIM groups', async () => {
    const { id } = await makeMember();
    const group = await createGroup('Member', [id]);
    expect((await scim.delete(`${usersPath}/${id}`)).status).toBe(204);
    expect((await scim.get(`${groupsPath}/${group.id}`)).body.members).toEqual([]);
    const refused = await scim.patch(
      `${groupsPath}/${group.id}`,
      toPatch({ op: 'add', path: 'members', value: [{ value: id }] }),
    );
    expect([refused.status, refused.body.scimType]).toEqual([400, 'invalidValue']);
  });

  it.each([
    ['an unknown user', { op: 'add', path: 'members', value: [{ value: newId() }] }, 'invalidValue'],
    ['a member without a value', { op: 'add', path: 'members', value: [{ display: 'x' }] }, 'invalidValue'],
    ['a member whose value is not a UUID', { op: 'add', path: 'members', value: [{ value: 'x' }] }, 'invalidValue'],
    ['an empty name', { op: 'replace', path: 'displayName', value: ' ' }, 'invalidValue'],
    ['one member to replace', { op: 'replace', path: 'members[value eq "x"]', value: {} }, 'invalidPath'],
  ])('a change of a SCIM group with %s is refused as a whole', async (_, operation, scimType) => {
    const { id } = await makeMember();
    const group = await createGroup('Member', [id]);
    const first = { op: 'remove', path: 'members' };
    const answer = await scim.patch(`${groupsPath}/${group.id}`, toPatch(first, operation));
    expect([answer.status, answer.body.scimType]).toEqual([400, scimType]);
    expect((await scim.get(`${groupsPath}/${group.id}`)).body).toEqual(group);
    expect(await readUserRole(id)).toBe('member');
  });

  it('SCIM groups of another organization are not found, and the names of groups are unique in an organization', async () => {
    const group = await createGroup('Member');
    const other = await harness.makeTenant();
    const provider = await startProvider(harness.http, other);
    expect((await provider.get(groupsPath)).body.totalResults).toBe(0);
    for (const path of [`${groupsPath}/${group.id}`, `${groupsPath}/nonsense`]) {
      expect((await provider.get(path)).status).toBe(404);
      expect((await provider.put(path, { displayName: 'Mine' })).status).toBe(404);
      expect((await provider.delete(path)).status).toBe(404);
    }
    const { id } = await makeMember();
    const foreign = await provider.post(groupsPath, { displayName: 'Member', members: [{ value: id }] });
    expect([foreign.status, foreign.body.scimType]).toEqual([400, 'invalidValue']);
    expect((await provider.post(groupsPath, { displayName: 'Member' })).status).toBe(201);
    const again = await scim.post(groupsPath, { displayName: 'MEMBER' });
    expect([again.status, again.body.scimType]).toEqual([409, 'uniqueness']);
  });
});
