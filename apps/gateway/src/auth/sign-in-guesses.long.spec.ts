// Long: hashes hundreds of passwords.
// Short: apps/gateway/src/auth/sessions.spec.ts
import { newId } from '@muster/platform';
import { type Answer, FakeClock, type Harness, makeUser, startHarness, testPassword } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('guessed passwords', () => {
  const clock = new FakeClock(new Date());
  const env = { REDIS_PREFIX: `guesses${process.pid}`, TRUST_PROXY: '127.0.0.1,192.0.2.0/24' };
  const limit = 20;
  let first: Harness;
  let second: Harness;
  let organizationId: string;
  let addressCount = 0;

  beforeAll(async () => {
    first = await startHarness({ ...gateway, env, clock });
    const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
    second = await startHarness({ ...gateway, env, clock, database });
    ({ organizationId } = await first.makeTenant());
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });
  // Each test starts in a new rate-limit window.
  beforeEach(() => clock.advance(120_000));

  const account = () => makeUser(first.db, { organizationId });
  const newAddress = () => `198.51.${(addressCount += 1) >> 8}.${addressCount & 255}`;
  const signIn = (harness: Harness, email: string, password: string, from?: string) =>
    harness.http.with(from ? { 'x-forwarded-for': from } : {}).post('/api/auth/login', { email, password });
  const many = (count: number, ask: (i: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
  const counts = (answers: Answer[]) => {
    const byStatus: Record<number, number> = {};
    for (const { status } of answers) byStatus[status] = (byStatus[status] ?? 0) + 1;
    return byStatus;
  };

  it('checks no more guesses for one account than the limit, however many arrive at once', async () => {
    const { email } = await account();
    const answers = await many(120, () => signIn(first, email, 'a wrong guess', newAddress()));
    expect(counts(answers)).toEqual({ 401: limit, 429: 120 - limit });
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.code).toBe('rate_limited');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('counts guesses for one account over all replicas', async () => {
    const { email } = await account();
    const answers: Answer[] = [];
    // In small groups, because a counter that answers too late is treated as unavailable.
    for (let i = 0; i < 10; i += 1) {
      answers.push(...(await many(4, (n) => signIn([first, second][n % 2]!, email, 'a wrong guess', newAddress()))));
    }
    expect(counts(answers)).toEqual({ 401: limit, 429: 40 - limit });
  });

  it('counts guesses from one address over all accounts, and charges refused guesses to no account', async () => {
    const from = newAddress();
    const emails = (await many(60, async () => ({ body: await account() }) as Answer)).map(({ body }) => body.email);
    const answers = await many(60, (i) => signIn(first, emails[i]!, 'a wrong guess', from));
    expect(counts(answers)).toEqual({ 401: limit, 429: 60 - limit });
    const [victim] = emails;
    await many(60, () => signIn(first, victim!, 'a wrong guess', from));
    expect((await signIn(first, victim!, testPassword, newAddress())).status).toBe(200);
  });

  it('counts guesses per process while Redis is unreachable', async () => {
    const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
    const alone = await startHarness({
      ...gateway,
      env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' },
      clock,
      database,
    });
    try {
      const { email } = await account();
      const answers = await many(120, () => signIn(alone, email, 'a wrong guess', newAddress()));
      expect(counts(answers)).toEqual({ 401: limit, 429: 120 - limit });
    } finally {
      await alone.close();
    }
  });

  it('does not lock out the owner at an address that signed in within 30 days', async () => {
    const { email } = await account();
    const home = newAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    clock.advance(29 * 24 * 3_600_000);
    await many(60, () => signIn(first, email, 'a wrong guess', newAddress()));
    expect((await signIn(first, email, testPassword, newAddress())).status).toBe(429);
    expect((await signIn(second, email, testPassword, home)).status).toBe(200);
    clock.advance(31 * 24 * 3_600_000);
    await many(60, () => signIn(first, email, 'a wrong guess', newAddress()));
    expect((await signIn(first, email, testPassword, home)).status).toBe(429);
  });

  it('limits guesses from a known address too', async () => {
    const { email } = await account();
    const home = newAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    expect(counts(await many(60, () => signIn(first, email, 'a wrong guess', home)))).toEqual({ 401: limit, 429: 40 });
  });

  it('forgets an account’s known addresses after a new password', async () => {
    const user = await account();
    const home = newAddress();
    const { as } = await first.makeTenant();
    const admin = (await makeUser(first.db, { organizationId, role: 'admin' })).email;
    const session = await first.http.signIn(admin, testPassword);
    expect((await signIn(first, user.email, testPassword, home)).status).toBe(200);
    expect((await as.admin.patch(`/api/users/${user.id}`, { password: 'another password' })).status).toBe(404);
    expect((await session.patch(`/api/users/${user.id}`, { password: 'another password' })).status).toBe(200);
    await many(60, () => signIn(first, user.email, testPassword, newAddress()));
    expect((await signIn(first, user.email, 'another password', home)).status).toBe(429);
  });

  it('refuses guesses of too many unknown clients at once, and does not delay a known client', async () => {
    const { email } = await account();
    const home = newAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    const guesses = many(300, () => signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', newAddress()));
    const owner = await signIn(first, email, testPassword, home);
    const statuses = counts(await guesses);
    expect(owner.status).toBe(200);
    expect(Object.keys(statuses).filter((status) => !['401', '429'].includes(status))).toEqual([]);
  });

  it('does not count sign-ins that were refused while other clients used all slots', async () => {
    const { email } = await account();
    const from = newAddress();
    const crowd = many(200, () => signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', newAddress()));
    const answers = await many(10, () => signIn(first, email, testPassword, from));
    await crowd;
    expect(Object.keys(counts(answers)).every((status) => ['200', '429'].includes(status))).toBe(true);
    expect(counts(await many(limit - 1, () => signIn(first, email, testPassword, from)))[401]).toBeUndefined();
    expect((await signIn(first, email, testPassword, from)).status).toBe(200);
  });

  describe('clients behind proxies', () => {
    it('counts the last address in X-Forwarded-For that is not a trusted proxy', async () => {
      const [from, forwarded] = [newAddress(), () => `${newAddress()}, ${from}, 192.0.2.7`];
      const answers = await many(60, () =>
        signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', forwarded()),
      );
      expect(counts(answers)).toEqual({ 401: limit, 429: 60 - limit });
    });

    it('counts all clients as one if the header has no address, or does not come from a trusted proxy', async () => {
      const invalid = await many(60, (i) =>
        signIn(first, `nobody-${newId()}@example.com`, 'wrong guess', `someone-${i}`),
      );
      expect(counts(invalid)).toEqual({ 401: limit, 429: 60 - limit });
      const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
      const env = { TRUST_PROXY: '192.0.2.0/24' };
      const bare = await startHarness({ ...gateway, env, clock, database });
      try {
        const answers = await many(60, () =>
          signIn(bare, `nobody-${newId()}@example.com`, 'a wrong guess', newAddress()),
        );
        expect(counts(answers)).toEqual({ 401: limit, 429: 60 - limit });
      } finally {
        await bare.close();
      }
    });

    it('counts an IPv6 network as one address', async () => {
      const answers = await many(60, (i) =>
        signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', `2001:db8:7:8::${(i + 1).toString(16)}`),
      );
      expect(counts(answers)).toEqual({ 401: limit, 429: 60 - limit });
    });
  });

  describe('new passwords', () => {
    it('hashes new passwords a few at a time, while users can sign in', async () => {
      const admin = await makeUser(first.db, { organizationId, role: 'admin' });
      const { email } = await account();
      const home = newAddress();
      expect((await signIn(first, email, testPassword, home)).status).toBe(200);
      const session = await first.http.signIn(admin.email, testPassword);
      const creating = many(100, () =>
        session.post('/api/users', { email: `new-${newId()}@example.com`, password: testPassword, role: 'viewer' }),
      );
      const owner = await signIn(first, email, testPassword, home);
      const statuses = counts(await creating);
      expect(owner.status).toBe(200);
      expect(Object.keys(statuses).filter((status) => !['201', '429'].includes(status))).toEqual([]);
      const changed = await many(100, () => session.patch(`/api/users/${admin.id}`, { role: 'admin' }));
      expect(counts(changed)).toEqual({ 200: 100 });
    });
  });
});
