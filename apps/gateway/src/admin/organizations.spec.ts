import { newId } from '@muster/platform';
import {
  EventStream,
  type Harness,
  type HttpClient,
  makeAgent,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('organizations at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  describe('organizations', () => {
    it('a super_admin can create an organization with its admin, and rename, suspend and resume it', async () => {
      const email = `owner-${newId()}@example.com`;
      const body = { name: 'Southside', adminEmail: email, adminPassword: testPassword };
      const created = await tenant.as.super_admin.post('/api/admin/organizations', body);
      expect(created.status).toBe(201);
      expect(created.body).toMatchObject({
        organization: { name: 'Southside', suspended: false },
        admin: { email, role: 'admin' },
      });
      const { id } = created.body.organization;
      const owner = await harness.http.signIn(email, testPassword);
      expect((await owner.get('/api/organization/settings')).body.timezone).toBe('UTC');
      expect((await owner.get('/api/audit')).body.entries.map(({ action }: { action: string }) => action)).toContain(
        'organization.create',
      );
      await tenant.as.super_admin.patch(`/api/admin/organizations/${id}`, { name: 'Southside Group' });
      expect((await owner.get('/api/auth/me')).body.organization.name).toBe('Southside Group');
      expect((await tenant.as.super_admin.delete(`/api/admin/organizations/${id}`)).status).toBe(204);
      expect((await tenant.as.super_admin.get(`/api/admin/organizations/${id}`)).body.suspended).toBe(true);
      expect(
        (await tenant.as.super_admin.patch(`/api/admin/organizations/${id}`, { suspended: false })).body.suspended,
      ).toBe(false);
    });

    it('an organization is not created if the email address of its admin is taken', async () => {
      const before = (await tenant.as.super_admin.get('/api/admin/organizations?limit=200')).body.organizations.length;
      const email = (await tenant.as.admin.get('/api/auth/me')).body.user.email;
      const answer = await tenant.as.super_admin.post('/api/admin/organizations', {
        name: 'Half',
        adminEmail: email,
        adminPassword: testPassword,
      });
      expect(answer.status).toBe(409);
      expect((await tenant.as.super_admin.get('/api/admin/organizations?limit=200')).body.organizations.length).toBe(
        before,
      );
    });

    it('a super_admin can switch one session to another organization and back', async () => {
      const other = await harness.makeTenant('Elsewhere');
      const root = await harness.http.signIn(
        (await tenant.as.super_admin.get('/api/auth/me')).body.user.email,
        testPassword,
      );
      const answer = await root.post('/api/auth/organization', { organizationId: other.organizationId });
      expect(answer.body.organization).toEqual({ id: other.organizationId, name: 'Elsewhere' });
      expect(answer.body.ownOrganizationId).toBe(tenant.organizationId);
      expect((await root.get('/api/auth/me')).body).toEqual(answer.body);
      const ids = (await root.get('/api/users')).body.users.map(({ id }: { id: string }) => id);
      expect(ids).toContain(other.userIds.viewer);
      expect(ids).not.toContain(tenant.userIds.viewer);
      expect((await tenant.as.super_admin.get('/api/auth/me')).body.organization.id).toBe(tenant.organizationId);
      await root.post('/api/auth/organization', { organizationId: null });
      const back = (await root.get('/api/auth/me')).body;
      expect(back.organization.id).toBe(tenant.organizationId);
      expect(back).not.toHaveProperty('ownOrganizationId');
      expect((await root.post('/api/auth/organization', { organizationId: newId() })).status).toBe(404);
    });

    it('the audit trail records that a role change or the end of the session ended a switch to another organization', async () => {
      const [tenant, other] = [await harness.makeTenant(), await harness.makeTenant()];
      const id = tenant.userIds.super_admin;
      const { email } = (await tenant.as.super_admin.get('/api/auth/me')).body.user;
      const root = await harness.makeTenant().then(({ as }) => as.super_admin);
      await root.post('/api/auth/organization', { organizationId: tenant.organizationId });
      const readOrganizationId = async (client: HttpClient) => (await client.get('/api/auth/me')).body.organization?.id;
      const visitor = await harness.http.signIn(email, testPassword);
      const visitOtherOrganization = () =>
        visitor.post('/api/auth/organization', { organizationId: other.organizationId });

      expect((await visitOtherOrganization()).status).toBe(200);
      for (const role of ['viewer', 'super_admin']) {
        expect((await root.patch(`/api/users/${id}`, { role })).status).toBe(200);
        expect(await readOrganizationId(visitor)).toBe(tenant.organizationId);
      }
      expect((await visitOtherOrganization()).status).toBe(200);
      expect(await readOrganizationId(visitor)).toBe(other.organizationId);
      for (const disabled of [true, false]) await root.patch(`/api/users/${id}`, { disabled });
      expect((await visitor.get('/api/auth/me')).status).toBe(401);

      // The audit trail of the visited organization contains the switch and the switch back.
      const actor = await harness.http.signIn(email, testPassword);
      for (const organizationId of [other.organizationId, null]) {
        expect((await actor.post('/api/auth/organization', { organizationId })).status).toBe(200);
      }
      const { entries } = (await other.as.admin.get('/api/audit?limit=2')).body;
      expect(entries).toEqual([
        expect.objectContaining({
          action: 'session.override_organization',
          actor: expect.objectContaining({ email }),
          changes: { organizationId: [other.organizationId, tenant.organizationId] },
        }),
        expect.objectContaining({ changes: { organizationId: [tenant.organizationId, other.organizationId] } }),
      ]);
      expect(await readOrganizationId(await harness.http.signIn(email, testPassword))).toBe(tenant.organizationId);
    });

    it('a resource that a super_admin creates in another organization cannot be reached from the home organization', async () => {
      const [tenant, other] = [await harness.makeTenant(), await harness.makeTenant()];
      const { email } = (await tenant.as.super_admin.get('/api/auth/me')).body.user;
      const root = await harness.http.signIn(email, testPassword);
      const switchToOrganization = (organizationId: string | null) =>
        root.post('/api/auth/organization', { organizationId });
      const once = root.with({ 'idempotency-key': newId() });
      const workflow = { name: 'Visited', script: 'pass' };

      await switchToOrganization(other.organizationId);
      const key = (await root.post('/api/api-keys', { name: 'visitor', scope: 'api' })).body;
      const { id: workflowId } = (await once.post('/api/workflows', workflow)).body;
      expect((await root.put('/api/vault/PORTAL_PASSWORD', { value: 'secret' })).status).toBeLessThan(300);

      await switchToOrganization(null);
      const listed = [await root.get('/api/api-keys'), await root.get('/api/workflows'), await root.get('/api/vault')];
      for (const { text } of listed) expect(text).not.toMatch(/visitor|Visited|PORTAL_PASSWORD/);
      for (const path of [`/api/api-keys/${key.id}`, `/api/workflows/${workflowId}`, '/api/vault/PORTAL_PASSWORD']) {
        expect([path, (await root.delete(path)).status]).toEqual([path, 404]);
      }
      const ofKey = (await harness.http.withKey(key.secret).get('/api/workflows')).body.workflows;
      expect(ofKey.map(({ id }: { id: string }) => id)).toEqual([workflowId]);
      // A repeated idempotency key finds nothing here, because the first request with it belongs to the other
      // organization.
      const repeated = await once.post('/api/workflows', workflow);
      expect([repeated.status, repeated.body.id === workflowId]).toEqual([201, false]);
      expect((await tenant.as.admin.get('/api/audit')).text).not.toMatch(/visitor|PORTAL_PASSWORD/);

      const { apiKeys } = (await other.as.admin.get('/api/api-keys')).body;
      expect(apiKeys.map(({ name }: { name: string }) => name)).toContain('visitor');
      const audited = (await other.as.admin.get('/api/audit')).body.entries;
      expect(audited.map((entry: any) => [entry.action, entry.actor.email])).toContainEqual(['api_key.create', email]);
      expect((await other.as.admin.delete(`/api/api-keys/${key.id}`)).status).toBe(204);
      expect((await harness.http.withKey(key.secret).get('/api/workflows')).status).toBe(401);
    });

    it('a super_admin who visits a suspended organization cannot create an API key there', async () => {
      const [tenant, other] = [await harness.makeTenant(), await harness.makeTenant()];
      const { email } = (await tenant.as.super_admin.get('/api/auth/me')).body.user;
      const root = await harness.http.signIn(email, testPassword);
      const organization = `/api/admin/organizations/${other.organizationId}`;
      expect((await root.patch(organization, { suspended: true })).status).toBe(200);
      await root.post('/api/auth/organization', { organizationId: other.organizationId });
      const refused = await root.post('/api/api-keys', { name: 'visitor', scope: 'api' });
      expect([refused.status, refused.body.code]).toEqual([402, 'billing_gate_closed']);
      expect((await root.get('/api/api-keys')).status).toBe(200);
      // The super_admin's own organization is not suspended.
      await root.post('/api/auth/organization', { organizationId: null });
      expect((await root.post('/api/api-keys', { name: 'at home', scope: 'api' })).status).toBe(201);
    });

    it('the event streams of a super_admin who leaves the visited organization end before their next heartbeat', async () => {
      const other = await harness.makeTenant('Left behind');
      const agent = await makeAgent(harness.db, { organizationId: other.organizationId });
      const email = (await tenant.as.super_admin.get('/api/auth/me')).body.user.email;
      const login = await harness.http.post('/api/auth/login', { email, password: testPassword });
      const cookie = login.headers.get('set-cookie')!.split(';')[0]!;
      const session = harness.http.with({ cookie });
      await session.post('/api/auth/organization', { organizationId: other.organizationId });
      const streams = await Promise.all(
        ['/api/events', `/api/agents/${agent.id}/events`].map((path) =>
          EventStream.open(`${harness.url}${path}`, { cookie }),
        ),
      );
      expect(streams.map(({ response }) => response.statusCode)).toEqual([200, 200]);
      expect((await session.post('/api/auth/organization', { organizationId: null })).status).toBe(200);
      await waitFor('both streams to end', () => streams.every(({ ended }) => ended));
      // Each stream sends one comment when it opens, and one with each heartbeat.
      expect(streams.map(({ comments }) => comments.length)).toEqual([1, 1]);
    });
  });
});
