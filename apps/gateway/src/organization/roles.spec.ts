import { listPermissions, maxOwnRoles, type Permission, roles } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  type Answer,
  EventStream,
  type Harness,
  type HttpClient,
  makeAgent,
  makeUser,
  makeWorkflow,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('own roles', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  let count = 0;
  const makeRole = async (permissions: Permission[], client = tenant.as.admin) => {
    count += 1;
    const name = `Role ${count}`;
    const created = await client.post('/api/roles', { name, permissions });
    expect([created.status, created.body]).toEqual([201, { name, permissions, builtIn: false, users: 0 }]);
    return name;
  };
  const signInWith = async (permissions: Permission[]) => {
    const role = await makeRole(permissions);
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role });
    return { role, user, client: await harness.http.signIn(user.email, testPassword) };
  };
  const readStatus = async (answer: Promise<{ status: number }>) => (await answer).status;
  const readStatusAndCode = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    return [status, body.code];
  };
  const denied = [403, 'permission_denied'];

  it('an admin can create, list, change and delete roles, and each change is audited', async () => {
    const name = await makeRole(['runs.read', 'runs.write']);
    const path = `/api/roles/${encodeURIComponent(name)}`;
    const listed = (await tenant.as.viewer.get('/api/roles')).body.roles;
    expect(listed.slice(0, 4)).toEqual(
      roles.map((role) => ({ name: role, permissions: [...listPermissions({ role })], builtIn: true, users: 1 })),
    );
    expect(listed).toContainEqual({ name, permissions: ['runs.read', 'runs.write'], builtIn: false, users: 0 });
    const changed = await tenant.as.admin.patch(path, { permissions: ['costs.read'] });
    expect([changed.status, changed.body.permissions]).toEqual([200, ['costs.read']]);
    expect(await readStatus(tenant.as.admin.delete(path))).toBe(204);
    expect(await readStatus(tenant.as.admin.delete(path))).toBe(404);
    const { entries } = (await tenant.as.admin.get(`/api/audit?targetId=${encodeURIComponent(name)}`)).body;
    expect(entries.map(({ action, changes }: any) => [action, changes])).toEqual([
      ['role.delete', { permissions: ['costs.read'] }],
      ['role.update', { permissions: [['runs.read', 'runs.write'], ['costs.read']] }],
      ['role.create', { permissions: ['runs.read', 'runs.write'] }],
    ]);
  });

  it('a role is refused if it has an unknown permission, an invalid name or the name of a built-in role', async () => {
    const createRole = (body: object) => readStatusAndCode(tenant.as.admin.post('/api/roles', body));
    for (const permission of ['runs.fly', 'platform.admin', 'work.report']) {
      expect(await createRole({ name: 'Wrong', permissions: [permission] })).toEqual([400, 'invalid_payload']);
    }
    const names = [...roles, 'Admin', 'VIEWER', '', ' Front', 'Front ', 'a/b', 'a\nb', 'x'.repeat(51)];
    for (const name of names) {
      expect([name, ...(await createRole({ name, permissions: ['runs.read'] }))]).toEqual([
        name,
        400,
        'invalid_payload',
      ]);
    }
    expect(await createRole({ name: 'Empty', permissions: [] })).toEqual([400, 'invalid_payload']);
    const name = await makeRole(['runs.read']);
    expect(await createRole({ name: name.toUpperCase(), permissions: ['runs.read'] })).toEqual([409, 'conflict']);
    for (const role of roles) {
      const path = `/api/roles/${role}`;
      expect(await readStatusAndCode(tenant.as.super_admin.patch(path, { permissions: ['runs.read'] }))).toEqual([
        400,
        'invalid_payload',
      ]);
      expect(await readStatusAndCode(tenant.as.super_admin.delete(path))).toEqual([400, 'invalid_payload']);
    }
  });

  it('a change of a role takes effect on the next request of an open session', async () => {
    const { role, client } = await signInWith(['runs.read', 'runs.write']);
    const { user } = (await client.get('/api/auth/me')).body;
    expect([user.role, user.permissions]).toEqual([role, ['runs.read', 'runs.write']]);
    expect(await readStatus(client.get('/api/jobs'))).toBe(200);
    expect(await readStatus(client.get('/api/agents'))).toBe(403);
    const cancelUnknownJob = () => readStatus(client.post(`/api/jobs/${newId()}/cancel`));
    expect(await cancelUnknownJob()).toBe(404);
    await tenant.as.admin.patch(`/api/roles/${role}`, { permissions: ['agents.read'] });
    expect(await readStatus(client.get('/api/jobs'))).toBe(403);
    expect(await readStatus(client.get('/api/agents'))).toBe(200);
    expect(await cancelUnknownJob()).toBe(403);
  });

  it('a role cannot be deleted while a user has it; the session of a user without a role may do nothing', async () => {
    const { role, user, client } = await signInWith(['runs.read']);
    await tenant.as.admin.delete(`/api/users/${user.id}`);
    expect(await readStatusAndCode(tenant.as.admin.delete(`/api/roles/${role}`))).toEqual([409, 'conflict']);
    await tenant.as.admin.patch(`/api/users/${user.id}`, { disabled: false });
    const session = await harness.http.signIn(user.email, testPassword);
    expect(await readStatus(client.get('/api/jobs'))).toBe(401);
    expect(await readStatus(session.get('/api/jobs'))).toBe(200);
    // The API refuses to delete an assigned role. The cached principal ends with the next access change.
    await harness.db.query('system', 'DELETE FROM own_role WHERE name = $1', [role]);
    await makeRole(['runs.read']).then((name) => tenant.as.admin.delete(`/api/roles/${name}`));
    expect(await readStatus(session.get('/api/jobs'))).toBe(403);
    expect((await session.get('/api/auth/me')).body.user.permissions).toEqual([]);
    expect(await readStatus(tenant.as.admin.patch(`/api/users/${user.id}`, { role: 'member' }))).toBe(200);
    expect(await readStatus(session.get('/api/jobs'))).toBe(200);
  });

  it('a caller cannot grant permissions that it does not have, by a role, a user, an invitation or a password', async () => {
    const { role, user, client } = await signInWith(['users.admin', 'runs.read']);
    const stronger = await makeRole(['runs.read', 'vault.write']);
    const createAsClient = (permissions: Permission[]) =>
      client.post('/api/roles', { name: `By ${newId()}`, permissions });
    expect(await readStatusAndCode(createAsClient(['runs.read', 'vault.write']))).toEqual(denied);
    const own = await createAsClient(['users.admin', 'runs.read']);
    expect(own.status).toBe(201);
    const raise = { permissions: ['users.admin', 'runs.read', 'vault.write'] };
    for (const name of [role, own.body.name]) {
      expect(await readStatusAndCode(client.patch(`/api/roles/${name}`, raise))).toEqual(denied);
    }
    // The caller can neither change, delete nor assign a role with permissions that the caller does not have.
    expect(await readStatusAndCode(client.patch(`/api/roles/${stronger}`, { permissions: ['runs.read'] }))).toEqual(
      denied,
    );
    expect(await readStatusAndCode(client.delete(`/api/roles/${stronger}`))).toEqual(denied);
    const password = testPassword;
    for (const role of [stronger, 'admin', 'member', 'viewer', 'super_admin']) {
      const email = `${newId()}@example.com`;
      expect(await readStatusAndCode(client.post('/api/users', { email, password, role }))).toEqual(denied);
      expect(await readStatusAndCode(client.post('/api/invitations', { email, role }))).toEqual(denied);
      expect(await readStatusAndCode(client.patch(`/api/users/${user.id}`, { role }))).toEqual(denied);
    }
    // With such a user's password, or after resetting their second factor, the caller could sign in as them.
    for (const id of [tenant.userIds.admin, tenant.userIds.viewer]) {
      expect(await readStatusAndCode(client.patch(`/api/users/${id}`, { password: 'another password' }))).toEqual(
        denied,
      );
      expect(await readStatusAndCode(client.delete(`/api/users/${id}`))).toEqual(denied);
      expect(await readStatusAndCode(client.delete(`/api/users/${id}/totp`))).toEqual(denied);
    }
    const email = `${newId()}@example.com`;
    expect(await readStatus(client.post('/api/users', { email, password, role: own.body.name }))).toBe(201);
  });

  it('an API key cannot have more permissions than the user who creates it', async () => {
    const { client } = await signInWith(['keys.admin', 'runs.read']);
    const createApiKey = (body: object) => readStatusAndCode(client.post('/api/api-keys', { name: 'key', ...body }));
    for (const body of [{ scope: 'api' }, { scope: 'api', role: 'viewer' }, { scope: 'worker' }])
      expect(await createApiKey(body)).toEqual(denied);
    const viewer = await signInWith(['keys.admin', ...listPermissions({ role: 'viewer' })]);
    const key = await viewer.client.post('/api/api-keys', { name: 'key', scope: 'api', role: 'viewer' });
    expect(key.status).toBe(201);
    expect(await readStatusAndCode(viewer.client.post('/api/api-keys', { name: 'key', scope: 'api' }))).toEqual(denied);
  });

  it('the key of a device sign-in loses the permissions that its user’s role loses', async () => {
    const member = [...listPermissions({ role: 'member' })];
    const { role, client } = await signInWith(member);
    const begun = (await harness.http.post('/api/auth/device', { client_id: 'cli' })).body;
    expect(await readStatus(client.post('/api/auth/device/answer', { userCode: begun.user_code, allow: true }))).toBe(
      200,
    );
    const { access_token } = (
      await harness.http.post('/api/auth/device/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: begun.device_code,
      })
    ).body;
    const program = harness.http.withKey(access_token);
    expect((await program.get('/api/auth/me')).body.user.role).toBe('member');
    const setPermissions = (permissions: Permission[]) => tenant.as.admin.patch(`/api/roles/${role}`, { permissions });
    await setPermissions(member.filter((each) => each !== 'runs.write'));
    expect((await program.get('/api/auth/me')).body.user.role).toBe('viewer');
    await setPermissions(['runs.read']);
    expect(await readStatus(program.get('/api/auth/me'))).toBe(401);
    const again = (await harness.http.post('/api/auth/device', { client_id: 'cli' })).body;
    expect(
      await readStatusAndCode(client.post('/api/auth/device/answer', { userCode: again.user_code, allow: true })),
    ).toEqual(denied);
  });

  it('API keys and worker keys can neither list nor change roles', async () => {
    const body = { name: 'By a key', permissions: ['runs.read'] };
    for (const key of [tenant.api, tenant.worker]) {
      expect(await readStatusAndCode(key.get('/api/roles'))).toEqual(denied);
      expect(await readStatusAndCode(key.post('/api/roles', body))).toEqual(denied);
      expect(await readStatusAndCode(key.patch('/api/roles/x', { permissions: ['runs.read'] }))).toEqual(denied);
      expect(await readStatusAndCode(key.delete('/api/roles/x'))).toEqual(denied);
    }
  });

  it('a role of another organization can be neither assigned nor seen, and the database isolates its row', async () => {
    const other = await harness.makeTenant();
    const name = await makeRole(['runs.read'], other.as.admin);
    await other.as.admin.post('/api/roles', { name: 'Twin', permissions: ['runs.read'] });
    await tenant.as.admin.post('/api/roles', { name: 'Twin', permissions: ['costs.read'] });
    expect((await tenant.as.admin.get('/api/roles')).body.roles).not.toContainEqual(expect.objectContaining({ name }));
    const user = { email: `${newId()}@example.com`, password: testPassword, role: name };
    expect(await readStatusAndCode(tenant.as.admin.post('/api/users', user))).toEqual([400, 'invalid_payload']);
    expect(
      await readStatusAndCode(tenant.as.admin.patch(`/api/users/${tenant.userIds.viewer}`, { role: name })),
    ).toEqual([400, 'invalid_payload']);
    // A role with the same name in another organization grants nothing in this one.
    const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'Twin' });
    const client = await harness.http.signIn(email, testPassword);
    expect((await client.get('/api/auth/me')).body.user.permissions).toEqual(['costs.read']);
    const { organizationId } = tenant;
    const seen = await harness.db.query<{ name: string }>({ organizationId }, 'SELECT name FROM own_role');
    expect(seen.map((row) => row.name)).not.toContain(name);
  });

  it('a caller receives the events that its role may see, and the stream ends when the role loses a permission', async () => {
    const { organizationId } = tenant;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' });
    const { role, client } = await signInWith(['agents.read', 'schedules.read']);
    const stream = await EventStream.open(`${harness.url}/api/events?types=job,agent`, client.headers);
    await waitFor('the beginning', () => stream.retry);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    expect(await readStatus(tenant.api.post('/api/jobs/launch', { workflowId, agentId }))).toBe(202);
    expect(await readStatus(tenant.api.post(`/api/agents/${agentId}/drain`, { mode: 'finish' }))).toBe(200);
    await stream.waitForEvents(1);
    expect(stream.events.map(({ data }) => data.type)).toEqual(['agent']);
    await tenant.as.admin.patch(`/api/roles/${role}`, { permissions: ['schedules.read'] });
    await waitFor('the end of the stream', () => stream.ended);
  });

  it('the permission to control an agent does not allow starting or cancelling its runs, or terminating it', async () => {
    const { organizationId } = tenant;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' });
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const { client } = await signInWith(['agents.read', 'agents.control']);
    const performAgentAction = (by: HttpClient, body: object) =>
      readStatusAndCode(by.post(`/api/agent/${agentId}/action`, body));
    expect(await performAgentAction(client, { action: 'start_job', workflowId })).toEqual(denied);
    expect(await performAgentAction(client, { action: 'stop_job', jobId: newId() })).toEqual(denied);
    expect(await performAgentAction(client, { action: 'terminate' })).toEqual(denied);
    const runner = await signInWith(['agents.control', 'runs.write']);
    expect((await performAgentAction(runner.client, { action: 'start_job', workflowId }))[0]).toBe(202);
    expect((await performAgentAction(runner.client, { action: 'stop_job', jobId: newId() }))[0]).toBe(404);
  });

  it('a tool of the assistant needs the permission of the route that does the same', async () => {
    const { organizationId } = tenant;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' });
    const { role, client } = await signInWith(['assistant.use', 'agents.read', 'runs.write']);
    const callTool = (body: object) => readStatusAndCode(client.post(`/api/agents/${agentId}/manage`, body));
    const snippet = { tool: 'run_snippet', arguments: { code: 'print(1)' } };
    expect(await readStatusAndCode(client.post(`/api/agents/${agentId}/run-snippet`, { code: 'print(1)' }))).toEqual(
      denied,
    );
    expect(await callTool(snippet)).toEqual(denied);
    for (const tool of ['list_runs', 'list_files', 'list_workflows', 'list_schedules', 'stop']) {
      expect([tool, ...(await callTool({ tool }))]).toEqual([tool, ...denied]);
    }
    expect((await callTool({ tool: 'get_status' }))[0]).toBe(200);
    await tenant.as.admin.patch(`/api/roles/${role}`, { permissions: ['assistant.use'] });
    expect(await callTool({ tool: 'get_status' })).toEqual(denied);
  });

  it('the permission to change packs does not allow releasing a version to production or withdrawing it', async () => {
    const { client } = await signInWith(['packs.read', 'packs.write']);
    const releaser = await signInWith(['packs.write', 'packs.release']);
    const promoteUnknownVersion = (by: HttpClient, stage: string) =>
      readStatusAndCode(
        by.post(`/api/workflow-packs/${newId()}/versions/${newId()}/promote`, { stage, reason: 'test' }),
      );
    for (const stage of ['production', 'deprecated', 'archived']) {
      expect([stage, ...(await promoteUnknownVersion(client, stage))]).toEqual([stage, ...denied]);
      expect((await promoteUnknownVersion(releaser.client, stage))[0]).toBe(404);
    }
    expect((await promoteUnknownVersion(client, 'pilot'))[0]).toBe(404);
  });

  it('roles that are created at the same time have different names and do not exceed the maximum', async () => {
    const { as, organizationId } = await harness.makeTenant();
    const createRoleNamed = (name: string) =>
      readStatus(as.admin.post('/api/roles', { name, permissions: ['runs.read'] }));
    expect((await Promise.all(['Same', 'same', 'SAME'].map(createRoleNamed))).sort()).toEqual([201, 409, 409]);
    await harness.db.query(
      'system',
      `INSERT INTO own_role (organization_id, name, permissions)
       SELECT $1, 'Filler ' || n, '{runs.read}' FROM generate_series(1, $2::integer) n`,
      [organizationId, maxOwnRoles - 2],
    );
    const statuses = await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(createRoleNamed));
    expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  it('an invitation with a role of the organization creates a user with that role, and ends when the role is deleted', async () => {
    const role = await makeRole(['runs.read']);
    const inviteUser = async () => {
      const { body } = await tenant.as.admin.post('/api/invitations', { email: `${newId()}@example.com`, role });
      return { email: body.email, token: body.link.split('token=')[1] };
    };
    const acceptInvitation = (token: string) =>
      harness.http.post('/api/invitations/accept', { token, password: testPassword });
    const [first, second] = [await inviteUser(), await inviteUser()];
    expect(await readStatus(acceptInvitation(first.token))).toBe(200);
    const client = await harness.http.signIn(first.email, testPassword);
    expect((await client.get('/api/auth/me')).body.user).toMatchObject({ role, permissions: ['runs.read'] });
    const { id } = (await client.get('/api/auth/me')).body.user;
    await tenant.as.admin.patch(`/api/users/${id}`, { role: 'viewer' });
    expect(await readStatus(tenant.as.admin.delete(`/api/roles/${role}`))).toBe(204);
    expect(await readStatus(acceptInvitation(second.token))).toBe(401);
  });

  it('a user with all permissions of an admin does not replace the last admin', async () => {
    const other = await harness.makeTenant();
    await other.as.super_admin.patch(`/api/users/${other.userIds.super_admin}`, { disabled: true });
    const role = await makeRole([...listPermissions({ role: 'admin' })], other.as.admin);
    const deputy = await makeUser(harness.db, { organizationId: other.organizationId, role });
    const client = await harness.http.signIn(deputy.email, testPassword);
    for (const by of [other.as.admin, client]) {
      const changeOtherAdmin = (body: object) => readStatusAndCode(by.patch(`/api/users/${other.userIds.admin}`, body));
      expect(await changeOtherAdmin({ role })).toEqual([409, 'conflict']);
      expect(await changeOtherAdmin({ disabled: true })).toEqual([409, 'conflict']);
    }
  });

  it('a role that is deleted and assigned concurrently is either deleted or assigned, not both', async () => {
    for (let round = 0; round < 10; round += 1) {
      const role = await makeRole(['runs.read']);
      const body = { email: `${newId()}@example.com`, password: testPassword, role };
      const [created, deleted] = await Promise.all([
        readStatus(tenant.as.admin.post('/api/users', body)),
        readStatus(tenant.as.admin.delete(`/api/roles/${role}`)),
      ]);
      expect([
        [201, 409],
        [400, 204],
      ]).toContainEqual([created, deleted]);
    }
  });
});
