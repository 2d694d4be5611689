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

  const lastAudit = async () => (await tenant.as.admin.get('/api/audit?limit=1')).body.entries[0];

  describe('users', () => {
    it('are made, read, listed page by page, changed and disabled', async () => {
      const made = await tenant.as.admin.post('/api/users', {
        email: 'Dana@Example.com',
        password: testPassword,
        role: 'member',
      });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ email: 'dana@example.com', role: 'member', disabled: false });
      expect(made.headers.get('location')).toBe(`/api/users/${made.body.id}`);
      expect((await tenant.as.viewer.get(made.headers.get('location')!)).body).toEqual(made.body);
      expect(await lastAudit()).toMatchObject({
        action: 'user.create',
        actor: { kind: 'user', id: tenant.userIds.admin },
        target: { type: 'user', id: made.body.id },
        changes: { email: 'dana@example.com', role: 'member' },
        requestId: made.headers.get('x-request-id'),
      });

      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: any = await tenant.as.viewer.get(`/api/users?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
        expect(page.body.users.length).toBeLessThanOrEqual(2);
        seen.push(...page.body.users.map(({ id }: { id: string }) => id));
        cursor = page.body.nextCursor;
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toContain(made.body.id);

      const dana = await harness.http.signIn('dana@example.com', testPassword);
      const promoted = await tenant.as.admin.patch(`/api/users/${made.body.id}`, { role: 'viewer' });
      expect(promoted.body.role).toBe('viewer');
      expect((await dana.get('/api/auth/me')).body.user.role).toBe('viewer');
      expect((await tenant.as.admin.delete(`/api/users/${made.body.id}`)).status).toBe(204);
      expect((await dana.get('/api/auth/me')).status).toBe(401);
      expect((await tenant.as.admin.get(`/api/users/${made.body.id}`)).body.disabled).toBe(true);
    });

    it('sign in everywhere anew after a new password', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const client = await harness.http.signIn(user.email, testPassword);
      await tenant.as.admin.patch(`/api/users/${user.id}`, { password: 'another password' });
      expect((await client.get('/api/auth/me')).status).toBe(401);
      expect(JSON.stringify(await lastAudit())).not.toContain('another password');
      await harness.http.signIn(user.email, 'another password');
    });

    it('have one account for one address, over all organizations', async () => {
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

    it('cannot be raised above, or changed by, somebody below', async () => {
      const raise = { email: 'x@example.com', password: testPassword, role: 'super_admin' };
      expect((await tenant.as.admin.post('/api/users', raise)).status).toBe(403);
      expect((await tenant.as.admin.patch(`/api/users/${tenant.userIds.super_admin}`, { role: 'viewer' })).status).toBe(
        403,
      );
      expect((await tenant.as.admin.patch(`/api/users/${tenant.userIds.viewer}`, { role: 'super_admin' })).status).toBe(
        403,
      );
    });

    it('always keep an admin who can sign in', async () => {
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
