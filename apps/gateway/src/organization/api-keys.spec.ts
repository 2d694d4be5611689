import { newId } from '@muster/platform';
import { FakeClock, type Harness, makeAgent, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('API keys at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock, env: { TRUST_PROXY: '127.0.0.1' } });
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  const readLastAuditEntry = async () => (await tenant.as.admin.get('/api/audit?limit=1')).body.entries[0];

  describe('API keys', () => {
    it('an API key’s secret is shown once, accepted at once, and refused at once after its revocation', async () => {
      clock.advance(1000);
      const created = await tenant.as.admin.post('/api/api-keys', { name: 'nightly', scope: 'api' });
      expect(created.body).toEqual({
        id: expect.stringMatching(/^[a-z0-9]{8,32}$/),
        name: 'nightly',
        scope: 'api',
        agentId: null,
        expiresAt: null,
        role: 'member',
        ipAllow: [],
        secret: expect.stringMatching(new RegExp(`^msk_${created.body.id}_`)),
      });
      const client = harness.http.withKey(created.body.secret);
      expect((await client.get('/api/organization/settings')).status).toBe(200);
      const list = await tenant.as.admin.get('/api/api-keys');
      expect(list.text).not.toContain(created.body.secret);
      expect(list.body.apiKeys[0]).toMatchObject({ id: created.body.id, name: 'nightly' });
      const [row] = await harness.db.query('system', 'SELECT * FROM api_key WHERE id = $1', [created.body.id]);
      expect(JSON.stringify(row)).not.toContain(created.body.secret.slice(-20));
      expect((await tenant.as.admin.delete(`/api/api-keys/${created.body.id}`)).status).toBe(204);
      expect((await client.get('/api/organization/settings')).status).toBe(401);
      expect(await readLastAuditEntry()).toMatchObject({ action: 'api_key.delete', target: { id: created.body.id } });
    });

    it('a revoked API key is refused in another process as soon as that process is notified', async () => {
      const other = await startHarness({
        ...gateway,
        database: { url: harness.databaseUrl, name: '', drop: async () => undefined },
      });
      try {
        const created = await tenant.as.admin.post('/api/api-keys', { name: 'two replicas', scope: 'api' });
        const there = other.http.withKey(created.body.secret);
        expect((await there.get('/api/organization/settings')).status).toBe(200);
        await tenant.as.admin.delete(`/api/api-keys/${created.body.id}`);
        await waitFor(
          'the other process to be notified',
          async () => (await there.get('/api/organization/settings')).status === 401,
          2000,
        );
      } finally {
        await other.close();
      }
    });

    it('an API key is refused after it has expired', async () => {
      const expiresAt = new Date(clock.now().getTime() + 60_000).toISOString();
      const created = await tenant.as.admin.post('/api/api-keys', { name: 'short', scope: 'api', expiresAt });
      const client = harness.http.withKey(created.body.secret);
      expect((await client.get('/api/organization/settings')).status).toBe(200);
      clock.advance(60_001);
      expect((await client.get('/api/organization/settings')).status).toBe(401);
      clock.advance(-60_001);
      const past = await tenant.as.admin.post('/api/api-keys', {
        name: 'past',
        scope: 'api',
        expiresAt: '2020-01-01T00:00:00Z',
      });
      expect([past.status, past.body.errors[0].field]).toEqual([400, 'expiresAt']);
    });

    it('an API key is limited to its role and addresses, and shows where it was last used', async () => {
      const createKey = async (body: object) => {
        const { status, body: created } = await tenant.as.admin.post('/api/api-keys', {
          name: 'k',
          scope: 'api',
          ...body,
        });
        return { status, created, client: harness.http.withKey(created.secret ?? '') };
      };
      const viewer = await createKey({
        role: 'viewer',
        ipAllow: ['203.0.113.0/24', '2001:db8::7', '::ffff:198.51.100.0/120'],
      });
      expect(viewer.created).toMatchObject({ role: 'viewer', ipAllow: expect.arrayContaining(['203.0.113.0/24']) });
      const createClientFrom = (address: string) => viewer.client.with({ 'x-forwarded-for': address });
      for (const address of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::7', '198.51.100.7']) {
        expect((await createClientFrom(address).get('/api/auth/me')).body.user.role).toBe('viewer');
      }
      for (const address of ['198.51.101.7', '203.0.114.9', '2001:db8::8', '127.0.0.1']) {
        const refused = await createClientFrom(address).get('/api/auth/me');
        expect([address, refused.status, refused.body.code]).toEqual([address, 403, 'permission_denied']);
      }
      const changed = await createClientFrom('203.0.113.9').post('/api/functions', { name: 'f', code: 'pass' });
      expect([changed.status, changed.body.code]).toEqual([403, 'permission_denied']);
      const readKeys = async () => (await tenant.as.admin.get('/api/api-keys?q=k')).body.apiKeys;
      await waitFor('its last use', async () =>
        (await readKeys()).some(
          ({ id, lastUsedFrom }: Record<string, string>) => id === viewer.created.id && lastUsedFrom === '203.0.113.9',
        ),
      );
      for (const [bad, field] of [
        [{ role: 'admin' }, 'role'],
        [{ role: 'viewer', scope: 'worker' }, 'role'],
        [{ ipAllow: ['203.0.113.0/24', 'example.com'] }, 'ipAllow.1'],
        [{ ipAllow: ['203.0.113.0/33'] }, 'ipAllow.0'],
      ] as const) {
        const { status, created } = await createKey(bad);
        expect([status, created.errors[0].field]).toEqual([400, field]);
      }
    });

    it('the lifetime of an API key is limited to the organization’s maximum', async () => {
      const { as } = await harness.makeTenant();
      await as.admin.patch('/api/organization/settings', { apiKeyMaxDays: 30 });
      const formatDaysFromNow = (days: number) => new Date(clock.now().getTime() + days * 86_400_000).toISOString();
      const createKeyExpiringAt = (expiresAt?: string) =>
        as.admin.post('/api/api-keys', { name: 'k', scope: 'api', expiresAt });
      expect((await createKeyExpiringAt()).body.expiresAt).toBe(formatDaysFromNow(30));
      expect((await createKeyExpiringAt(formatDaysFromNow(7))).body.expiresAt).toBe(formatDaysFromNow(7));
      const late = await createKeyExpiringAt(formatDaysFromNow(31));
      expect([late.status, late.body.errors[0].field]).toEqual([400, 'expiresAt']);
      await as.admin.patch('/api/organization/settings', { apiKeyMaxDays: null });
      expect((await createKeyExpiringAt()).body.expiresAt).toBeNull();
    });

    it('an API key can be bound only if it is a worker key, and only to an agent of its organization', async () => {
      const agent = await makeAgent(harness.db, { organizationId: tenant.organizationId });
      const foreign = await makeAgent(harness.db, { organizationId: (await harness.makeTenant()).organizationId });
      const createWorkerKey = (body: object) =>
        tenant.as.admin.post('/api/api-keys', { name: 'k', scope: 'worker', ...body });
      expect((await createWorkerKey({ agentId: agent.id })).body.agentId).toBe(agent.id);
      const unknown = await createWorkerKey({ agentId: newId() });
      const foreignAgent = await createWorkerKey({ agentId: foreign.id });
      expect([unknown.status, unknown.body.code]).toEqual([404, 'agent_not_found']);
      expect([foreignAgent.status, foreignAgent.body.code, foreignAgent.body.detail]).toEqual([
        404,
        'agent_not_found',
        unknown.body.detail,
      ]);
      expect((await createWorkerKey({ agentId: agent.id, scope: 'api' })).status).toBe(400);
    });

    it('a request with an API key and a session cookie is authenticated by the key', async () => {
      const both = tenant.as.admin.with({ 'x-api-key': 'msk_wrongkey_0123456789abcdef' });
      expect((await both.get('/api/users')).status).toBe(401);
    });
  });
});
