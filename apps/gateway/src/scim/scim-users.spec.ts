import { listPermissions, scimSchemas } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  type Answer,
  computeAuthenticatorCode,
  type Harness,
  type HttpClient,
  makeUser,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeEntraUser, groupsPath, makeOktaUser, toPatch, startProvider, usersPath, makeClient } from './scim.harness';

describe('users that an identity provider manages', () => {
  let harness: Harness;
  let tenant: Tenant;
  let other: Tenant;
  let scim: HttpClient;
  let count = 0;
  const makeEmail = () => `user${(count += 1)}@scim-${process.pid}.test`;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    other = await harness.makeTenant();
    scim = await startProvider(harness.http, tenant);
  });
  afterAll(() => harness.close());

  const createUser = async (body: object) => {
    const answer = await scim.post(usersPath, body);
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    expect(answer.headers.get('location')).toBe(answer.body.meta.location);
    return answer.body;
  };
  const readAccount = async (id: string) => (await tenant.as.admin.get(`/api/users/${id}`)).body;
  const buildFilter = (name: string, value: string) =>
    `${usersPath}?filter=${encodeURIComponent(`${name} eq "${value}"`)}`;
  const expectError = (answer: Answer, status: number, scimType?: string) => {
    const type = 'application/scim+json; charset=utf-8';
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    expect(answer.body).toMatchObject({
      schemas: [scimSchemas.error],
      status: String(status),
      detail: expect.any(String),
      ...(scimType ? { scimType } : {}),
    });
  };

  it('a user that Okta creates is a viewer without a known password, and is found by the address in any case', async () => {
    const address = makeEmail();
    const created = await createUser(makeOktaUser(address.toUpperCase()));
    expect(created).toEqual({
      schemas: [scimSchemas.user],
      id: expect.any(String),
      externalId: '00ujl29u0le5T6Aj10h7',
      userName: address,
      name: { givenName: 'Dana', familyName: 'Reyes', formatted: 'Dana Reyes' },
      displayName: 'Dana Reyes',
      emails: [{ value: address, type: 'work', primary: true }],
      active: true,
      groups: [],
      meta: {
        resourceType: 'User',
        created: expect.any(String),
        lastModified: expect.any(String),
        location: expect.stringMatching(new RegExp(`^http.*/api/scim/v2/Users/${created.id}$`)),
      },
    });
    expect(await readAccount(created.id)).toMatchObject({ email: address, role: 'viewer', disabled: false });
    expect((await harness.http.post('/api/auth/login', { email: address, password: '1mz050nq' })).status).toBe(401);
    for (const [name, value] of [
      ['userName', address.toUpperCase()],
      ['USERNAME', address],
      ['emails[type eq "work"].value', address],
      ['externalId', '00ujl29u0le5T6Aj10h7'],
      ['id', created.id],
    ] as const) {
      const { status, body } = await scim.get(buildFilter(name, value));
      expect([name, status, body]).toEqual([
        name,
        200,
        { schemas: [scimSchemas.list], totalResults: 1, startIndex: 1, itemsPerPage: 1, Resources: [created] },
      ]);
    }
    const [entry] = (await tenant.as.admin.get(`/api/audit?targetId=${created.id}`)).body.entries;
    expect(entry).toMatchObject({ action: 'user.create', actor: { kind: 'system', id: 'scim' } });
  });

  it('a SCIM search without a match returns an empty list, and an address with an account cannot be used again', async () => {
    const none = (await scim.get(buildFilter('userName', 'nobody@nowhere.test'))).body;
    expect([none.totalResults, none.Resources]).toEqual([0, []]);
    const taken = makeEmail();
    await makeUser(harness.db, { organizationId: other.organizationId, role: 'admin', email: taken });
    expectError(await scim.post(usersPath, makeOktaUser(taken)), 409, 'uniqueness');
    const own = await createUser(makeOktaUser(makeEmail()));
    expectError(await scim.post(usersPath, makeOktaUser(own.userName)), 409, 'uniqueness');
    expectError(await scim.put(`${usersPath}/${own.id}`, makeOktaUser(taken)), 409, 'uniqueness');
    expect((await readAccount(own.id)).email).toBe(own.userName);
  });

  it.each([
    ['Okta', { op: 'replace', value: { active: false } }, { op: 'replace', value: { active: true } }],
    ['Entra', { op: 'Replace', path: 'active', value: 'False' }, { op: 'Add', path: 'active', value: 'True' }],
    [
      'a full path',
      { op: 'replace', path: `${scimSchemas.user}:active`, value: false },
      { op: 'replace', value: { [`${scimSchemas.user}:active`]: true } },
    ],
  ])('a user whom the provider deactivates as %s is signed out, and can return', async (_, off, on) => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'member' });
    const session = await harness.http.signIn(user.email, testPassword);
    expect((await session.get('/api/auth/me')).status).toBe(200);
    const disabled = await scim.patch(`${usersPath}/${user.id}`, toPatch(off));
    expect([disabled.status, disabled.body.active]).toEqual([200, false]);
    await waitFor('the end of the session', async () => (await session.get('/api/auth/me')).status === 401);
    expect((await harness.http.post('/api/auth/login', { email: user.email, password: testPassword })).status).toBe(
      401,
    );
    const enabled = await scim.patch(`${usersPath}/${user.id}`, toPatch(on));
    expect([enabled.status, enabled.body.active]).toEqual([200, true]);
    expect((await session.get('/api/auth/me')).status).toBe(401);
    expect((await harness.http.signIn(user.email, testPassword)).headers['cookie']).toBeDefined();
    expect(await readAccount(user.id)).toMatchObject({ role: 'member', disabled: false });
    const actions = (await tenant.as.admin.get(`/api/audit?targetId=${user.id}`)).body.entries.map(
      ({ action }: { action: string }) => action,
    );
    expect(actions).toEqual(['user.update', 'user.disable']);
  });

  it('SCIM can change the names, external id and address of a user, and ignores attributes that are not stored', async () => {
    const { id } = await createUser(makeEntraUser(makeEmail()));
    const address = makeEmail();
    const changed = await scim.patch(
      `${usersPath}/${id}`,
      toPatch(
        { op: 'Replace', path: 'name.givenName', value: 'Samira' },
        { op: 'Replace', path: 'userName', value: address },
        { op: 'Add', path: 'emails[type eq "work"].value', value: 'else@where.test' },
        { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'Desk' },
        { op: 'Add', value: { displayName: 'Samira O.', title: 'Clerk', 'name.familyName': 'O.' } },
        { op: 'Remove', path: 'externalId' },
      ),
    );
    expect(changed.body).toMatchObject({
      userName: address,
      name: { givenName: 'Samira', familyName: 'O.', formatted: 'Samira O.' },
      displayName: 'Samira O.',
      emails: [{ value: address }],
    });
    expect(changed.body).not.toHaveProperty('externalId');
    const replaced = await scim.put(`${usersPath}/${id}`, { schemas: [scimSchemas.user], userName: address, id });
    expect(replaced.body).toMatchObject({ userName: address, active: true });
    expect(replaced.body).not.toHaveProperty('name');
    expect((await scim.get(`${usersPath}/${id}?attributes=userName,meta.location`)).body).toEqual({
      ...{ schemas: [scimSchemas.user], id, userName: address, meta: expect.any(Object) },
    });
    expect((await scim.get(`${usersPath}/${id}?excludedAttributes=emails,groups`)).body).not.toHaveProperty('emails');
  });

  it('a new address of a user invalidates the links that were mailed to the old address', async () => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'member' });
    const { organizationId } = tenant;
    await harness.db.query(
      'system',
      `INSERT INTO account_link (id, organization_id, kind, user_id, email, secret_hash, expires_at)
       VALUES ($1, $2, 'reset', $3, $4, 'hash', muster_now() + interval '1 hour')`,
      [newId(), organizationId, user.id, user.email],
    );
    const countLinks = async () =>
      (await harness.db.query('system', 'SELECT 1 FROM account_link WHERE user_id = $1', [user.id])).length;
    expect(await countLinks()).toBe(1);
    await scim.patch(`${usersPath}/${user.id}`, toPatch({ op: 'replace', path: 'userName', value: makeEmail() }));
    expect(await countLinks()).toBe(0);
  });

  it('a user that the provider deletes is hidden and disabled, and returns without a password and a second factor', async () => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'admin' });
    const session = await harness.http.signIn(user.email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const code = computeAuthenticatorCode(secret, new Date());
    expect((await session.post('/api/auth/totp/confirm', { code })).status).toBe(200);
    const path = `${usersPath}/${user.id}`;
    expect((await scim.delete(path)).status).toBe(204);
    await waitFor('the end of the session', async () => (await session.get('/api/auth/me')).status === 401);
    expectError(await scim.get(path), 404);
    expectError(await scim.delete(path), 404);
    expectError(await scim.patch(path, toPatch({ op: 'replace', value: { active: true } })), 404);
    expect((await scim.get(buildFilter('userName', user.email))).body.totalResults).toBe(0);
    expect(await readAccount(user.id)).toMatchObject({ disabled: true });
    const again = await createUser(makeOktaUser(user.email));
    expect(again.id).toBe(user.id);
    expect(await readAccount(user.id)).toMatchObject({ disabled: false, role: 'viewer', secondFactorSince: null });
    expect((await harness.http.post('/api/auth/login', { email: user.email, password: testPassword })).status).toBe(
      401,
    );
  });

  it('the SCIM list of users contains all users of the organization page by page, and none of another organization', async () => {
    const own = await harness.makeTenant();
    const provider = await startProvider(harness.http, own);
    const all = (await provider.get(usersPath)).body;
    expect(all.totalResults).toBe(all.Resources.length);
    const emails = (await own.as.admin.get('/api/users')).body.users.map(({ email }: { email: string }) => email);
    expect(all.Resources.map(({ userName }: { userName: string }) => userName).sort()).toEqual(emails.sort());
    const second = (await provider.get(`${usersPath}?startIndex=2&count=1`)).body;
    expect(second).toMatchObject({ totalResults: all.totalResults, startIndex: 2, itemsPerPage: 1 });
    expect(second.Resources).toEqual([all.Resources[1]]);
    expect((await provider.get(`${usersPath}?startIndex=-1&count=0`)).body).toMatchObject({
      ...{ totalResults: all.totalResults, startIndex: 1, itemsPerPage: 0, Resources: [] },
    });
    const foreign = (await tenant.as.admin.get('/api/users')).body.users[0].id;
    for (const path of [`${usersPath}/${foreign}`, `${usersPath}/${newId()}`, `${usersPath}/nonsense`]) {
      expectError(await provider.get(path), 404);
      expectError(await provider.put(path, makeOktaUser(makeEmail())), 404);
      expectError(await provider.delete(path), 404);
    }
  });

  it('SCIM cannot disable the last admin or super_admins', async () => {
    const own = await harness.makeTenant();
    const provider = await startProvider(harness.http, own);
    const users = (await own.as.admin.get('/api/users')).body.users as { id: string; role: string }[];
    const off = toPatch({ op: 'replace', value: { active: false } });
    const superAdmin = users.find(({ role }) => role === 'super_admin')!;
    expectError(await provider.patch(`${usersPath}/${superAdmin.id}`, off), 403);
    expectError(await provider.delete(`${usersPath}/${superAdmin.id}`), 403);
    await harness.db.query('system', "UPDATE app_user SET role = 'viewer' WHERE id = $1", [superAdmin.id]);
    const admin = users.find(({ role }) => role === 'admin')!;
    expectError(await provider.patch(`${usersPath}/${admin.id}`, off), 409);
    expectError(await provider.delete(`${usersPath}/${admin.id}`), 409);
    expect((await own.as.admin.get('/api/auth/me')).status).toBe(200);
  });

  it.each([
    ['POST', '', { userName: 'not an address' }, 'invalidValue'],
    ['POST', '', { displayName: 'no userName' }, 'invalidValue'],
    ['POST', '', { userName: 'a@b.test', active: 'maybe' }, 'invalidValue'],
    ['POST', '', { userName: 'a@b.test', name: 'Dana' }, 'invalidValue'],
    ['POST', '', '{"userName":', 'invalidSyntax'],
    ['PATCH', 'own', { Operations: [] }, 'invalidValue'],
    ['PATCH', 'own', toPatch({ op: 'move', path: 'active', value: true }), 'invalidSyntax'],
    ['PATCH', 'own', toPatch({ op: 'replace', path: 'a b', value: true }), 'invalidPath'],
    ['PATCH', 'own', toPatch({ op: 'remove' }), 'noTarget'],
    ['PATCH', 'own', toPatch({ op: 'remove', path: 'userName' }), 'mutability'],
    ['PATCH', 'own', toPatch({ op: 'replace', value: true }), 'invalidSyntax'],
    ['PATCH', 'own', toPatch({ op: 'replace', value: { active: false } }, { op: 'x', value: {} }), 'invalidSyntax'],
    ['GET', '?filter=userName+co+"a"', undefined, 'invalidFilter'],
    ['GET', '?filter=password+eq+"a"', undefined, 'invalidFilter'],
    ['GET', '?filter=userName+eq+"a"+or+id+eq+"b"', undefined, 'invalidFilter'],
    ['GET', '?count=many', undefined, 'invalidValue'],
  ])('the SCIM request %s %s with %j is refused and changes nothing', async (method, path, body, scimType) => {
    const own = path === 'own' ? await createUser(makeOktaUser(makeEmail())) : null;
    const before = (await scim.get(usersPath)).body;
    const target = own ? `${usersPath}/${own.id}` : `${usersPath}${path}`;
    expectError(await scim.send(method, target, body), 400, scimType);
    expect((await scim.get(usersPath)).body).toEqual(before);
  });

  it('only the current SCIM token of the organization is accepted', async () => {
    const own = await harness.makeTenant();
    const { admin, member } = own.as;
    expect((await admin.get('/api/organization/scim')).body).toEqual({
      baseUrl: expect.stringMatching(/\/api\/scim\/v2$/),
      token: null,
    });
    expect((await member.post('/api/organization/scim-token')).status).toBe(403);
    expect((await own.api.post('/api/organization/scim-token')).status).toBe(403);
    const makeToken = async () => (await admin.post('/api/organization/scim-token')).body.token as string;
    const [first, second] = [await makeToken(), await makeToken()];
    const getStatus = async (sent: string) => (await makeClient(harness.http, sent).get(usersPath)).status;
    expect([await getStatus(first), await getStatus(second)]).toEqual([401, 200]);
    const wrong = second.replace(own.organizationId, other.organizationId);
    for (const sent of [wrong, `${second}x`, 'nonsense', '']) {
      expectError(await makeClient(harness.http, sent).get(usersPath), 401);
    }
    for (const client of [harness.http, admin, own.api, own.worker]) expectError(await client.get(usersPath), 401);
    await waitFor('the recorded use', async () => (await admin.get('/api/organization/scim')).body.token?.lastUsedAt);
    expect((await admin.delete('/api/organization/scim-token')).status).toBe(204);
    expect([await getStatus(second), (await admin.delete('/api/organization/scim-token')).status]).toEqual([401, 404]);
    const { entries } = (await admin.get('/api/audit')).body;
    expect(JSON.stringify(entries)).not.toContain(second);
    const actions = entries.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action.startsWith('organization.'))).toEqual([
      ...['organization.delete_scim_token', 'organization.create_scim_token', 'organization.create_scim_token'],
    ]);
  });

  it('a SCIM token by a user with fewer permissions than an admin neither grants more nor changes users who have more', async () => {
    const own = await harness.makeTenant();
    const { organizationId, as } = own;
    const role = { name: 'Settings', permissions: [...listPermissions({ role: 'viewer' }), 'settings.admin'] };
    expect((await as.admin.post('/api/roles', role)).status).toBe(201);
    const { email } = await makeUser(harness.db, { organizationId, role: 'Settings' });
    const session = await harness.http.signIn(email, testPassword);
    const provider = makeClient(harness.http, (await session.post('/api/organization/scim-token')).body.token);
    const [admin, viewer] = [
      await makeUser(harness.db, { organizationId, role: 'admin' }),
      await makeUser(harness.db, { organizationId, role: 'viewer' }),
    ];
    const off = toPatch({ op: 'replace', value: { active: false } });
    expectError(await provider.patch(`${usersPath}/${admin.id}`, off), 403);
    expectError(await provider.delete(`${usersPath}/${admin.id}`), 403);
    const members = [{ value: admin.id }, { value: viewer.id }];
    const readRolesOfBoth = async () => {
      const readRole = async ({ id }: { id: string }) => (await as.admin.get(`/api/users/${id}`)).body.role;
      return [await readRole(admin), await readRole(viewer)];
    };
    const { id } = (await provider.post(groupsPath, { displayName: 'admin', members })).body;
    expect(await readRolesOfBoth()).toEqual(['admin', 'viewer']);
    expect((await provider.delete(`${groupsPath}/${id}`)).status).toBe(204);
    expect(await readRolesOfBoth()).toEqual(['admin', 'viewer']);
    expect((await provider.post(groupsPath, { displayName: 'Settings', members })).status).toBe(201);
    expect(await readRolesOfBoth()).toEqual(['admin', 'Settings']);
    expect((await provider.patch(`${usersPath}/${viewer.id}`, off)).status).toBe(200);
  });

  it('the identity provider of a suspended organization can disable users, but not create them', async () => {
    const own = await harness.makeTenant();
    const provider = await startProvider(harness.http, own);
    const { id } = (await provider.post(usersPath, makeOktaUser(makeEmail()))).body;
    await harness.db.query('system', 'UPDATE organization SET suspended = true WHERE id = $1', [own.organizationId]);
    expect((await provider.post(usersPath, makeOktaUser(makeEmail()))).status).toBe(402);
    const off = await provider.patch(`${usersPath}/${id}`, toPatch({ op: 'replace', value: { active: false } }));
    expect([off.status, off.body.active]).toEqual([200, false]);
  });

  it('the SCIM schemas of the service describe every attribute of a user', async () => {
    const user = await createUser(makeOktaUser(makeEmail()));
    const { Resources } = (await scim.get('/api/scim/v2/Schemas')).body;
    const names = Resources[0].attributes.map(({ name }: { name: string }) => name);
    const common = ['schemas', 'id', 'externalId', 'meta'];
    expect(Object.keys(user).filter((name) => !common.includes(name) && !names.includes(name))).toEqual([]);
    const types = (await scim.get('/api/scim/v2/ResourceTypes')).body.Resources;
    expect(types.map(({ endpoint, schema }: Record<string, string>) => [endpoint, schema])).toEqual([
      ['/Users', scimSchemas.user],
      ['/Groups', scimSchemas.group],
    ]);
    expect((await scim.get('/api/scim/v2/ServiceProviderConfig')).body).toMatchObject({
      ...{ patch: { supported: true }, bulk: { supported: false }, filter: { supported: true } },
    });
  });
});
