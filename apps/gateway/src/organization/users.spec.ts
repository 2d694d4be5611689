import { type Harness, makeUser, startHarness, type Tenant, testPassword } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('users at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  const readLastAuditEntry = async () => (await tenant.as.admin.get('/api/audit?limit=1')).body.entries[0];

  describe('users', () => {
    it('an admin can create, read, list, change and disable users', async () => {
      const created = await tenant.as.admin.post('/api/users', {
        email: 'Dana@Example.com',
        password: testPassword,
        role: 'member',
      });
      expect(created.status).toBe(201);
      expect(created.body).toMatchObject({ email: 'dana@example.com', role: 'member', disabled: false });
      expect(created.headers.get('location')).toBe(`/api/users/${created.body.id}`);
      expect((await tenant.as.viewer.get(created.headers.get('location')!)).body).toEqual(created.body);
      expect(await readLastAuditEntry()).toMatchObject({
        action: 'user.create',
        actor: { kind: 'user', id: tenant.userIds.admin },
        target: { type: 'user', id: created.body.id },
        changes: { email: 'dana@example.com', role: 'member' },
        requestId: created.headers.get('x-request-id'),
      });

      const received: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: any = await tenant.as.viewer.get(`/api/users?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
        expect(page.body.users.length).toBeLessThanOrEqual(2);
        received.push(...page.body.users.map(({ id }: { id: string }) => id));
        cursor = page.body.nextCursor;
      }
      expect(new Set(received).size).toBe(received.length);
      expect(received).toContain(created.body.id);

      const dana = await harness.http.signIn('dana@example.com', testPassword);
      const promoted = await tenant.as.admin.patch(`/api/users/${created.body.id}`, { role: 'viewer' });
      expect(promoted.body.role).toBe('viewer');
      expect((await dana.get('/api/auth/me')).body.user.role).toBe('viewer');
      expect((await tenant.as.admin.delete(`/api/users/${created.body.id}`)).status).toBe(204);
      expect((await dana.get('/api/auth/me')).status).toBe(401);
      expect((await tenant.as.admin.get(`/api/users/${created.body.id}`)).body.disabled).toBe(true);
    });

    it('a password must have 12 to 128 characters and be neither common nor the email address', async () => {
      const email = 'longer.name@example.com';
      const createUser = (password: string, address = email) =>
        tenant.as.admin.post('/api/users', { email: address, password, role: 'viewer' });
      const common = ['passwordpassword', 'PasswordPassword', '123456789012', 'qwertyqwerty'];
      const refused = ['elevenchars', 'x'.repeat(129), ...common, email, email.toUpperCase(), 'longest.local'];
      for (const password of refused) {
        const { status, body } = await createUser(
          password,
          password === 'longest.local' ? 'longest.local@x.com' : email,
        );
        expect([password, status, body.errors[0].field]).toEqual([password, 400, 'password']);
      }
      const created = await createUser('twelve chars');
      expect(created.status).toBe(201);
      const changePasswordAsAdmin = (password: string) =>
        tenant.as.admin.patch(`/api/users/${created.body.id}`, { password });
      for (const password of [common[0]!, email, 'elevenchars'])
        expect((await changePasswordAsAdmin(password)).status).toBe(400);
      expect((await changePasswordAsAdmin('y'.repeat(128))).status).toBe(200);
      const body = { name: 'Southside', adminEmail: 'south@example.com', adminPassword: common[0] };
      const organization = await tenant.as.super_admin.post('/api/admin/organizations', body);
      expect(organization.body.errors[0].field).toBe('adminPassword');
    });

    it('a password is checked exactly as it was typed, up to 128 characters', async () => {
      const [email, password] = ['exact@example.com', ` Ünïcode 🦷 and spaces ${'é'.repeat(100)} `];
      expect((await tenant.as.admin.post('/api/users', { email, password, role: 'viewer' })).status).toBe(201);
      const readLoginStatus = async (typed: string) =>
        (await harness.http.post('/api/auth/login', { email, password: typed })).status;
      expect(await readLoginStatus(password)).toBe(200);
      for (const wrong of [password.trim(), password.toLowerCase(), password.slice(0, -2), password.normalize('NFD')]) {
        expect(await readLoginStatus(wrong)).toBe(401);
      }
    });

    it('users can change their password with the old one, and the change ends their other sessions', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const [here, elsewhere] = [
        await harness.http.signIn(user.email, testPassword),
        await harness.http.signIn(user.email, testPassword),
      ];
      const changeOwnPassword = (oldPassword: string, newPassword: string) =>
        here.post('/api/auth/password', { oldPassword, newPassword });
      const wrong = await changeOwnPassword('a wrong guess', 'another password');
      expect([wrong.status, wrong.body.errors[0].field]).toEqual([403, 'oldPassword']);
      for (const weak of ['short', 'passwordpassword', user.email]) {
        const { status, body } = await changeOwnPassword(testPassword, weak);
        expect([status, body.errors[0].field]).toEqual([400, 'newPassword']);
      }
      expect((await elsewhere.get('/api/auth/me')).status).toBe(200);
      const both = await Promise.all([
        changeOwnPassword(testPassword, 'another password'),
        changeOwnPassword(testPassword, 'a third password'),
      ]);
      expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
      expect((await here.get('/api/auth/me')).status).toBe(200);
      expect((await elsewhere.get('/api/auth/me')).status).toBe(401);
      const left = both[0].status === 200 ? 'another password' : 'a third password';
      await harness.http.signIn(user.email, left);
      expect((await harness.http.post('/api/auth/login', { email: user.email, password: testPassword })).status).toBe(
        401,
      );
      const { entries } = (await tenant.as.admin.get(`/api/audit?targetId=${user.id}`)).body;
      expect(entries[0]).toMatchObject({ action: 'user.change_password', changes: {} });
    });

    it('a password that an admin sets ends all sessions of the user', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const client = await harness.http.signIn(user.email, testPassword);
      await tenant.as.admin.patch(`/api/users/${user.id}`, { password: 'another password' });
      expect((await client.get('/api/auth/me')).status).toBe(401);
      expect(JSON.stringify(await readLastAuditEntry())).not.toContain('another password');
      await harness.http.signIn(user.email, 'another password');
    });

    it('an email address can have one account over all organizations', async () => {
      const other = await harness.makeTenant();
      const body = { email: 'unique@example.com', password: testPassword, role: 'viewer' };
      expect((await tenant.as.admin.post('/api/users', body)).status).toBe(201);
      const again = await other.as.admin.post('/api/users', { ...body, email: 'UNIQUE@example.com' });
      expect([again.status, again.body.code, again.body.errors]).toEqual([
        409,
        'conflict',
        [{ field: 'email', message: 'email is taken' }],
      ]);
    });

    it('an admin cannot assign a role above their own, or change a user with such a role', async () => {
      const raise = { email: 'x@example.com', password: testPassword, role: 'super_admin' };
      expect((await tenant.as.admin.post('/api/users', raise)).status).toBe(403);
      expect((await tenant.as.admin.patch(`/api/users/${tenant.userIds.super_admin}`, { role: 'viewer' })).status).toBe(
        403,
      );
      expect((await tenant.as.admin.patch(`/api/users/${tenant.userIds.viewer}`, { role: 'super_admin' })).status).toBe(
        403,
      );
    });

    it('the last admin who can sign in cannot be disabled or lose the role', async () => {
      const lonely = await harness.makeTenant();
      await lonely.as.admin.delete(`/api/users/${lonely.userIds.member}`);
      await lonely.as.super_admin.patch(`/api/users/${lonely.userIds.super_admin}`, { disabled: true });
      for (const change of [{ role: 'member' }, { disabled: true }]) {
        const answer = await lonely.as.admin.patch(`/api/users/${lonely.userIds.admin}`, change);
        expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
      }
    });
  });
});
