import { listPermissions } from '@muster/contracts';
import {
  FakeClock,
  type Harness,
  HttpClient,
  makeUser,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('users at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  describe('sessions', () => {
    it('GET /api/auth/me and GET /api/health report that a restored database is on hold until an operator releases it', async () => {
      const savedAt = '2026-03-01T10:00:00.000Z';
      const querySql = (text: string, values?: unknown[]) => harness.db.query('system', text, values);
      await querySql("INSERT INTO recovery_hold (backup, saved_at, restored_at) VALUES ('b', $1, now())", [savedAt]);
      const database = { url: harness.databaseUrl, name: '', drop: async () => undefined };
      const restored = await startHarness({ ...gateway, clock, database });
      const readMe = async () =>
        (await restored.http.withKey(tenant.api.headers['x-api-key']!).get('/api/auth/me')).body;
      const readHealth = async () => (await restored.http.get('/api/health')).body;
      try {
        expect((await readMe()).recoveryHold).toEqual({ savedAt });
        await waitFor('the hold to be known', async () => (await readHealth()).recoveryHold === true);
        await querySql('UPDATE recovery_hold SET released_at = now()');
        expect(await readMe()).not.toHaveProperty('recoveryHold');
        await waitFor('the release to be known', async () => !('recoveryHold' in (await readHealth())));
      } finally {
        await restored.close();
        await querySql('DELETE FROM recovery_hold');
      }
    });

    it('a sign-in returns the user with a session cookie that scripts cannot read', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'member' });
      const answer = await harness.http.post('/api/auth/login', {
        email: user.email.toUpperCase(),
        password: testPassword,
      });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        user: {
          ...{ id: user.id, email: user.email, role: 'member' },
          permissions: listPermissions({ role: 'member' }),
        },
        organization: { id: tenant.organizationId, name: 'Northside Dental' },
      });
      expect(answer.headers.get('set-cookie')).toMatch(
        /^muster_session=mse_[0-9a-f-]{36}_[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      const cookie = answer.headers.get('set-cookie')!.split(';')[0]!;
      const signedIn = harness.http.with({ cookie });
      expect((await signedIn.get('/api/auth/me')).body).toEqual(answer.body);
      expect((await signedIn.post('/api/auth/logout')).status).toBe(200);
      expect((await signedIn.get('/api/auth/me')).status).toBe(401);
    });

    it('the session cookie has the prefix __Host- and is Secure if the public address is https', async () => {
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

    it('a sign-in fails with the same error for a wrong password, an unknown and a disabled account', async () => {
      const disabled = await makeUser(harness.db, { organizationId: tenant.organizationId, disabled: true });
      const enabled = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const attempts = [
        { email: enabled.email, password: 'wrong password' },
        { email: 'nobody@example.com', password: testPassword },
        { email: disabled.email, password: testPassword },
      ];
      const answers = await Promise.all(attempts.map((body) => harness.http.post('/api/auth/login', body)));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
      expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
    });

    it('a session ends after 60 idle minutes or the organization’s limit, and after 12 hours in any case', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const start = clock.now();
      const advanceMinutes = (count: number) => clock.advance(count * 60_000);
      const waitForSavedLastUse = (at: Date) =>
        waitFor('the last use to be saved', async () => {
          const [row] = await harness.db.query<{ lastSeenAt: Date }>(
            'system',
            'SELECT max(last_seen_at) AS last_seen_at FROM user_session WHERE user_id = $1',
            [user.id],
          );
          return row!.lastSeenAt.getTime() === at.getTime();
        });
      const client = await harness.http.signIn(user.email, testPassword);
      for (let hour = 0; hour < 12; hour += 1) {
        advanceMinutes(59);
        expect((await client.get('/api/auth/me')).status).toBe(200);
        await waitForSavedLastUse(clock.now());
      }
      clock.set(new Date(start.getTime() + 12 * 3_600_000));
      expect((await client.get('/api/auth/me')).status).toBe(401);
      const idle = await harness.http.signIn(user.email, testPassword);
      advanceMinutes(60);
      clock.advance(1);
      expect((await idle.get('/api/auth/me')).status).toBe(401);

      const { as } = await harness.makeTenant();
      const readStatusOfMe = async () => (await as.viewer.get('/api/auth/me')).status;
      expect((await as.admin.patch('/api/organization/settings', { sessionIdleMinutes: 5 })).status).toBe(200);
      advanceMinutes(5);
      expect(await readStatusOfMe()).toBe(200);
      advanceMinutes(5);
      clock.advance(1);
      expect(await readStatusOfMe()).toBe(401);
      clock.set(start);
    });

    it('a user’s password does not expire', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      const start = clock.now();
      clock.advance(3 * 365 * 86_400_000);
      const answer = await harness.http.post('/api/auth/login', { email: user.email, password: testPassword });
      clock.set(start);
      expect([answer.status, answer.body.user?.id]).toEqual([200, user.id]);
    });

    it('sessions are listed only to their owner, who can end one session or all others', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'viewer' });
      const signInFromAgent = (agent: string) =>
        harness.http.with({ 'user-agent': agent }).signIn(user.email, testPassword);
      const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0';
      const edge =
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 ' +
        'Safari/537.36 Edg/130.0.0.0';
      const [here, there, third] = [
        await signInFromAgent(firefox),
        await signInFromAgent(edge),
        await signInFromAgent('curl/8.5.0'),
      ];
      const listed = (await here.get('/api/auth/sessions')).body.sessions;
      expect(listed).toMatchObject([
        { browser: 'curl/8.5.0', current: false },
        { browser: 'Edge 130 on macOS', current: false },
        {
          browser: 'Firefox 131 on Windows',
          current: true,
          address: '127.0.0.1',
          createdAt: clock.now().toISOString(),
          expiresAt: new Date(clock.now().getTime() + 12 * 3_600_000).toISOString(),
        },
      ]);
      expect(JSON.stringify(listed)).not.toMatch(/mse_|hash/i);
      const page = (await here.get('/api/auth/sessions?limit=2')).body;
      const rest = (await here.get(`/api/auth/sessions?limit=2&cursor=${page.nextCursor}`)).body;
      expect([...page.sessions, ...rest.sessions]).toEqual(listed);

      const foreign = (await tenant.as.admin.get('/api/auth/sessions')).body.sessions[0].id;
      expect((await here.delete(`/api/auth/sessions/${foreign}`)).status).toBe(404);
      expect((await tenant.as.admin.get('/api/auth/me')).status).toBe(200);
      expect((await here.delete(`/api/auth/sessions/${listed[1].id}`)).status).toBe(204);
      expect((await there.get('/api/auth/me')).status).toBe(401);
      expect((await here.delete(`/api/auth/sessions/${listed[1].id}`)).status).toBe(404);
      expect((await here.delete('/api/auth/sessions')).body).toEqual({ ended: 1 });
      expect([(await third.get('/api/auth/me')).status, (await here.get('/api/auth/me')).status]).toEqual([401, 200]);
      const trail = (await tenant.as.admin.get(`/api/audit?actorId=${user.id}`)).body.entries;
      expect(trail.slice(0, 2).map(({ action }: { action: string }) => action)).toEqual([
        'session.delete_others',
        'session.delete',
      ]);
    });

    it('a change that a page of another site sends with the session cookie is refused', async () => {
      const change = { name: 'x', scope: 'api' };
      const createKeyWithHeaders = (headers: Record<string, string>) =>
        tenant.as.admin.with(headers).post('/api/api-keys', change);
      expect((await createKeyWithHeaders({ origin: 'https://evil.example' })).status).toBe(403);
      expect((await createKeyWithHeaders({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect(
        (await createKeyWithHeaders({ 'sec-fetch-site': 'same-site', origin: 'https://evil.muster.test' })).status,
      ).toBe(403);
      expect((await createKeyWithHeaders({ origin: 'null' })).status).toBe(403);
      expect(
        (await createKeyWithHeaders({ origin: 'http://muster.test', 'sec-fetch-site': 'cross-site' })).status,
      ).toBe(201);
      expect((await createKeyWithHeaders({ 'sec-fetch-site': 'same-origin' })).status).toBe(201);
      expect((await createKeyWithHeaders({ origin: harness.url })).status).toBe(201);
      const login = harness.http.with({ origin: 'https://evil.example' });
      expect((await login.post('/api/auth/login', { email: 'a@b.co', password: 'x' })).status).toBe(403);
      expect((await tenant.as.admin.with({ origin: 'https://evil.example' }).get('/api/users')).status).toBe(200);
    });

    it('only sign-ins with wrong passwords count towards the limit of sign-ins', async () => {
      const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
      // The clock is stopped, because each minute has a separate limit.
      const env = { RATE_LIMIT_FAILED_LOGINS_PER_MINUTE: '5' };
      const strict = await startHarness({ ...gateway, env, clock: new FakeClock(new Date()) });
      try {
        const { id: organizationId } = { id: (await strict.makeTenant()).organizationId };
        const victim = await makeUser(strict.db, { organizationId });
        const guessPassword = (password: string) =>
          strict.http.post('/api/auth/login', { email: victim.email, password });
        for (let i = 0; i < 20; i += 1) expect((await guessPassword(testPassword)).status).toBe(200);
        const answers: number[] = [];
        for (let i = 0; i < 7; i += 1) answers.push((await guessPassword('wrong password')).status);
        expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429]);
        const right = await guessPassword(testPassword);
        expect([right.status, right.body.code]).toEqual([429, 'rate_limited']);
        expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0);
      } finally {
        await strict.close();
      }
      expect((await harness.http.signIn(user.email, testPassword)) instanceof HttpClient).toBe(true);
    });
  });
});
