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

describe('people at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

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
          const [row] = await harness.db.query<{ lastSeenAt: Date }>(
            'system',
            'SELECT last_seen_at FROM user_session WHERE user_id = $1',
            [user.id],
          );
          return row!.lastSeenAt.getTime() === clock.now().getTime();
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
});
