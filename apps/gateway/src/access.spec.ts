import { newId } from '@muster/platform';
import {
  FakeClock,
  type Harness,
  HttpClient,
  makeAgent,
  makeUser,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { GatewayConfig } from './gateway.config';
import { GatewayModule } from './gateway.module';

const gateway = {
  name: 'gateway' as const,
  configs: [GatewayConfig] as [typeof GatewayConfig],
  modules: [GatewayModule],
};

describe('access through the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  const lastAudit = async () => (await tenant.as.admin.get('/api/audit?limit=1')).body.entries[0];

  describe('sessions', () => {
    it('answer who is signed in, in a cookie that scripts cannot read', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'member' });
      const answer = await harness.http.post('/api/auth/login', {
        email: user.email.toUpperCase(),
        password: testPassword,
      });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        user: { id: user.id, email: user.email, role: 'member' },
        organization: { id: tenant.organizationId, name: 'Northside Dental' },
      });
      expect(answer.headers.get('set-cookie')).toMatch(
        /^muster_session=mse_\S+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      const cookie = answer.headers.get('set-cookie')!.split(';')[0]!;
      const signedIn = harness.http.with({ cookie });
      expect((await signedIn.get('/api/auth/me')).body).toEqual(answer.body);
      expect((await signedIn.post('/api/auth/logout')).status).toBe(200);
      expect((await signedIn.get('/api/auth/me')).status).toBe(401);
    });

    it('take the __Host- name and Secure when the public address is https', async () => {
      const secure = await startHarness({ ...gateway, env: { PUBLIC_APP_URL: 'https://muster.example.com' } });
      try {
        const { as } = await secure.makeTenant();
        expect((await as.viewer.get('/api/auth/me')).status).toBe(200);
        const user = await makeUser(secure.db, {
          organizationId: (await as.viewer.get('/api/auth/me')).body.organization.id,
        });
        const answer = await secure.http.post('/api/auth/login', { email: user.email, password: testPassword });
        expect(answer.headers.get('set-cookie')).toMatch(/^__Host-muster_session=.*; Secure$/);
      } finally {
        await secure.close();
      }
    });

    it('are refused alike for a wrong password, an unknown account and a disabled one', async () => {
      const disabled = await makeUser(harness.db, { organizationId: tenant.organizationId, disabled: true });
      const known = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const attempts = [
        { email: known.email, password: 'wrong password' },
        { email: 'nobody@example.com', password: testPassword },
        { email: disabled.email, password: testPassword },
      ];
      const answers = await Promise.all(attempts.map((body) => harness.http.post('/api/auth/login', body)));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
      expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
    });

    it('end after a day without use, and after a week anyway', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const start = clock.now();
      const client = await harness.http.signIn(user.email, testPassword);
      for (let day = 0; day < 6; day += 1) {
        clock.advance(23 * 3_600_000);
        expect((await client.get('/api/auth/me')).status).toBe(200);
        await waitFor('the use to be noted', async () => {
          const [row] = await harness.db.query<{ last_seen_at: Date }>(
            'system',
            'SELECT last_seen_at FROM user_session WHERE user_id = $1',
            [user.id],
          );
          return row!.last_seen_at.getTime() === clock.now().getTime();
        });
      }
      clock.set(new Date(start.getTime() + 7 * 24 * 3_600_000 + 1));
      expect((await client.get('/api/auth/me')).status).toBe(401);
      const idle = await harness.http.signIn(user.email, testPassword);
      clock.advance(24 * 3_600_000 + 1);
      expect((await idle.get('/api/auth/me')).status).toBe(401);
      clock.set(start);
    });

    it('change nothing for a page of another site', async () => {
      const change = { name: 'x', scope: 'api' };
      const from = (headers: Record<string, string>) => tenant.as.admin.with(headers).post('/api/api-keys', change);
      expect((await from({ origin: 'https://evil.example' })).status).toBe(403);
      expect((await from({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect((await from({ 'sec-fetch-site': 'same-site', origin: 'https://evil.muster.test' })).status).toBe(403);
      expect((await from({ origin: 'null' })).status).toBe(403);
      expect((await from({ origin: 'http://muster.test', 'sec-fetch-site': 'cross-site' })).status).toBe(201);
      expect((await from({ 'sec-fetch-site': 'same-origin' })).status).toBe(201);
      expect((await from({ origin: harness.url })).status).toBe(201);
      const login = harness.http.with({ origin: 'https://evil.example' });
      expect((await login.post('/api/auth/login', { email: 'a@b.co', password: 'x' })).status).toBe(403);
      expect((await tenant.as.admin.with({ origin: 'https://evil.example' }).get('/api/users')).status).toBe(200);
    });

    it('are slowed down when passwords are guessed, and only then', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const strict = await startHarness({ ...gateway, env: { RATE_LIMIT_FAILED_LOGINS_PER_MINUTE: '5' } });
      try {
        const { id: organizationId } = { id: (await strict.makeTenant()).organizationId };
        const victim = await makeUser(strict.db, { organizationId });
        const guess = (password: string) => strict.http.post('/api/auth/login', { email: victim.email, password });
        for (let i = 0; i < 20; i += 1) expect((await guess(testPassword)).status).toBe(200);
        const answers: number[] = [];
        for (let i = 0; i < 7; i += 1) answers.push((await guess('wrong password')).status);
        expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429]);
        const right = await guess(testPassword);
        expect([right.status, right.body.code]).toEqual([429, 'rate_limited']);
        expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0);
      } finally {
        await strict.close();
      }
      expect((await harness.http.signIn(user.email, testPassword)) instanceof HttpClient).toBe(true);
    });
  });

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

  describe('API keys', () => {
    it('show their secret once, work at once, and are refused at once when revoked', async () => {
      const made = await tenant.as.admin.post('/api/api-keys', { name: 'nightly', scope: 'api' });
      expect(made.body).toEqual({
        id: expect.stringMatching(/^[a-z0-9]{8,32}$/),
        name: 'nightly',
        scope: 'api',
        agentId: null,
        expiresAt: null,
        secret: expect.stringMatching(new RegExp(`^msk_${made.body.id}_`)),
      });
      const client = harness.http.withKey(made.body.secret);
      expect((await client.get('/api/organization/settings')).status).toBe(200);
      const list = await tenant.as.admin.get('/api/api-keys');
      expect(list.text).not.toContain(made.body.secret);
      expect(list.body.apiKeys[0]).toMatchObject({ id: made.body.id, name: 'nightly' });
      const [row] = await harness.db.query('system', 'SELECT * FROM api_key WHERE id = $1', [made.body.id]);
      expect(JSON.stringify(row)).not.toContain(made.body.secret.split('_')[2]);
      expect((await tenant.as.admin.delete(`/api/api-keys/${made.body.id}`)).status).toBe(204);
      expect((await client.get('/api/organization/settings')).status).toBe(401);
      expect(await lastAudit()).toMatchObject({ action: 'api_key.delete', target: { id: made.body.id } });
    });

    it('are refused in another process the moment that they are revoked', async () => {
      const other = await startHarness({
        ...gateway,
        database: { url: harness.databaseUrl, name: '', drop: async () => undefined },
      });
      try {
        const made = await tenant.as.admin.post('/api/api-keys', { name: 'two replicas', scope: 'api' });
        const there = other.http.withKey(made.body.secret);
        expect((await there.get('/api/organization/settings')).status).toBe(200);
        await tenant.as.admin.delete(`/api/api-keys/${made.body.id}`);
        await waitFor(
          'the other process to hear',
          async () => (await there.get('/api/organization/settings')).status === 401,
          2000,
        );
      } finally {
        await other.close();
      }
    });

    it('end when they expire', async () => {
      const expiresAt = new Date(clock.now().getTime() + 60_000).toISOString();
      const made = await tenant.as.admin.post('/api/api-keys', { name: 'short', scope: 'api', expiresAt });
      const client = harness.http.withKey(made.body.secret);
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

    it('are bound to agents of the own organization only, and only worker keys', async () => {
      const agent = await makeAgent(harness.db, { organizationId: tenant.organizationId });
      const foreign = await makeAgent(harness.db, { organizationId: (await harness.makeTenant()).organizationId });
      const make = (body: object) => tenant.as.admin.post('/api/api-keys', { name: 'k', scope: 'worker', ...body });
      expect((await make({ agentId: agent.id })).body.agentId).toBe(agent.id);
      const unknown = await make({ agentId: newId() });
      const theirs = await make({ agentId: foreign.id });
      expect([unknown.status, unknown.body.code]).toEqual([404, 'agent_not_found']);
      expect([theirs.status, theirs.body.code, theirs.body.detail]).toEqual([
        404,
        'agent_not_found',
        unknown.body.detail,
      ]);
      expect((await make({ agentId: agent.id, scope: 'api' })).status).toBe(400);
    });

    it('count before a cookie that comes along', async () => {
      const both = tenant.as.admin.with({ 'x-api-key': 'msk_wrongkey_0123456789abcdef' });
      expect((await both.get('/api/users')).status).toBe(401);
    });
  });

  describe('organizations', () => {
    it('are made with their admin, renamed, suspended and resumed by a super_admin', async () => {
      const email = `owner-${newId()}@example.com`;
      const body = { name: 'Southside', adminEmail: email, adminPassword: testPassword };
      const made = await tenant.as.super_admin.post('/api/admin/organizations', body);
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({
        organization: { name: 'Southside', suspended: false },
        admin: { email, role: 'admin' },
      });
      const { id } = made.body.organization;
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

    it('make nothing when their admin’s address is taken', async () => {
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

    it('can be looked at by a super_admin, for as long as the session says', async () => {
      const other = await harness.makeTenant('Elsewhere');
      const root = await harness.http.signIn(
        (await tenant.as.super_admin.get('/api/auth/me')).body.user.email,
        testPassword,
      );
      const answer = await root.post('/api/auth/organization', { organizationId: other.organizationId });
      expect(answer.body.organization).toEqual({ id: other.organizationId, name: 'Elsewhere' });
      const ids = (await root.get('/api/users')).body.users.map(({ id }: { id: string }) => id);
      expect(ids).toContain(other.userIds.viewer);
      expect(ids).not.toContain(tenant.userIds.viewer);
      expect((await tenant.as.super_admin.get('/api/auth/me')).body.organization.id).toBe(tenant.organizationId);
      await root.post('/api/auth/organization', { organizationId: null });
      expect((await root.get('/api/auth/me')).body.organization.id).toBe(tenant.organizationId);
      expect((await root.post('/api/auth/organization', { organizationId: newId() })).status).toBe(404);
    });
  });

  describe('settings', () => {
    it('have defaults, change by field, and refuse what they cannot be', async () => {
      const { as } = await harness.makeTenant();
      const before = await as.viewer.get('/api/organization/settings');
      expect(before.body).toEqual({
        vmAutoWakeOnJob: true,
        autoStopEnabled: true,
        idleStopMinutes: 30,
        maxConcurrentRuns: null,
        monthlyRunLimit: null,
        monthlySpendLimitUsd: null,
        laborRateUsdPerHour: 28,
        minutesSavedPerClaim: 12,
        hourlyComputeUsd: 0.12,
        timezone: 'UTC',
      });
      const changed = await as.admin.patch('/api/organization/settings', {
        idleStopMinutes: 0.05,
        maxConcurrentRuns: 3,
      });
      expect(changed.body).toEqual({ ...before.body, idleStopMinutes: 0.05, maxConcurrentRuns: 3 });
      expect(
        (await as.admin.patch('/api/organization/settings', { maxConcurrentRuns: null })).body.maxConcurrentRuns,
      ).toBeNull();
      for (const bad of [
        { idleStopMinutes: 0.04 },
        { timezone: 'Mars/Olympus' },
        { vmAutoWakeOnJob: null },
        { vmAutoWakeOnJob: 'true' },
        { monthlyRunLimit: 1.5 },
      ]) {
        const answer = await as.admin.patch('/api/organization/settings', bad);
        expect([bad, answer.status, answer.body.errors[0].field]).toEqual([bad, 400, Object.keys(bad)[0]]);
      }
    });

    it('change only the revision that If-Match names', async () => {
      const { as } = await harness.makeTenant();
      const first = (await as.admin.get('/api/organization/settings')).headers.get('etag')!;
      const change = (ifMatch: string, minutes: number) =>
        as.admin.with({ 'if-match': ifMatch }).patch('/api/organization/settings', { idleStopMinutes: minutes });
      const second = await change(first, 10);
      expect([second.status, second.headers.get('etag')]).toEqual([200, expect.not.stringMatching(`^${first}$`)]);
      const late = await change(first, 20);
      expect([late.status, late.body.code, late.headers.get('etag')]).toEqual([
        412,
        'precondition_failed',
        second.headers.get('etag'),
      ]);
      expect((await change('*', 30)).status).toBe(200);
      const racing = (await as.admin.get('/api/organization/settings')).headers.get('etag')!;
      const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => change(racing, 40 + i)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
    });
  });

  describe('the vault', () => {
    it('shows names and dates, and keeps values sealed', async () => {
      const put = await tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: 'hunter2-very-secret' });
      expect(put.body).toEqual({
        key: 'PORTAL_PASSWORD',
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const list = await tenant.as.admin.get('/api/vault');
      expect(list.body.secrets).toContainEqual(put.body);
      const [row] = await harness.db.query<{ sealed: Buffer; wrapped_key: Buffer }>(
        'system',
        'SELECT * FROM vault_secret',
      );
      expect(row!.sealed.toString('latin1')).not.toContain('hunter2');
      expect(JSON.stringify(await lastAudit())).not.toContain('hunter2');
      expect(harness.logs.join('')).not.toContain('hunter2');
      expect((await tenant.as.admin.delete('/api/vault/PORTAL_PASSWORD')).status).toBe(204);
      expect((await tenant.as.admin.delete('/api/vault/PORTAL_PASSWORD')).status).toBe(404);
    });

    it('refuses names that a script’s environment cannot have', async () => {
      for (const key of [
        'PATH',
        'HOME',
        'PYTHONPATH',
        'LD_PRELOAD',
        'NODE_OPTIONS',
        'SERVICE_X',
        'AGENT_ID',
        'ORGANIZATION_ID',
        'MUSTER_X',
        '1X',
        'a-b',
        'a%20b',
      ]) {
        expect([key, (await tenant.as.admin.put(`/api/vault/${key}`, { value: 'x' })).status]).toEqual([key, 400]);
      }
    });
  });

  describe('an Idempotency-Key', () => {
    const body = () => ({ email: `once-${newId()}@example.com`, password: testPassword, role: 'viewer' });

    it('makes a thing once, and answers the repeats with the first answer', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      const input = body();
      const first = await client.post('/api/users', input);
      const second = await client.post('/api/users', input);
      expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
      expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('location')).toBe(first.headers.get('location'));
      const reused = await client.post('/api/users', body());
      expect([reused.status, reused.body.code]).toEqual([422, 'idempotency_key_reused']);
    });

    it('makes it once when twenty come at the same moment', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      const input = body();
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.post('/api/users', input)));
      const made = answers.filter(({ status, headers }) => status === 201 && !headers.get('idempotency-replayed'));
      expect(made).toHaveLength(1);
      for (const { status, body: answer } of answers) {
        if (status === 201) expect(answer).toEqual(made[0]!.body);
        else expect([status, answer.code]).toEqual([409, 'idempotency_key_in_flight']);
      }
    });

    it('keeps nothing of a request that failed', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      expect((await client.post('/api/users', { ...body(), email: 'not an address' })).status).toBe(400);
      expect((await client.post('/api/users', body())).status).toBe(201);
    });

    it('is one organization’s own', async () => {
      const other = await harness.makeTenant();
      const key = { 'idempotency-key': newId() };
      expect((await tenant.as.admin.with(key).post('/api/users', body())).status).toBe(201);
      expect((await other.as.admin.with(key).post('/api/users', body())).status).toBe(201);
    });

    it('is refused when it is nonsense', async () => {
      for (const key of ['', 'x'.repeat(256), 'with space']) {
        expect((await tenant.as.admin.with({ 'idempotency-key': key }).post('/api/users', body())).status).toBe(400);
      }
    });
  });
});

describe('the log', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('carries the request’s id and trace, given or made', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const answer = await tenant.api
      .with({ 'x-request-id': 'my-request-1', traceparent })
      .get('/api/organization/settings');
    expect(answer.headers.get('x-request-id')).toBe('my-request-1');
    await waitFor('the log line', () =>
      harness.logs.some((line) => line.includes('my-request-1') && line.includes('0af7651916cd43dd8448eb211c80319c')),
    );
    const odd = await tenant.api.with({ 'x-request-id': 'a b;<script>' }).get('/api/organization/settings');
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });

  it('holds no credential, whatever was sent', async () => {
    await tenant.as.admin.put('/api/vault/KEY', { value: 'a-vault-value' });
    await harness.http.get('/api/organization/settings?x-api-key=msk_abcdefgh_0123456789abcdef');
    await harness.http.post('/api/auth/login', { email: 'a@b.co', password: 'a-wrong-password' });
    const all = harness.logs.join('');
    expect(all).not.toMatch(/msk_[a-z0-9]{8,32}_[A-Za-z0-9]/);
    expect(all).not.toMatch(/mse_[0-9a-f-]{36}_[A-Za-z0-9]/);
    for (const secret of [testPassword, 'a-vault-value', 'a-wrong-password']) expect(all).not.toContain(secret);
  });
});
