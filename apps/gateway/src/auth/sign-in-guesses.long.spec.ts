// This test is long because it hashes hundreds of passwords.
// A short test of the same code: apps/gateway/src/auth/sessions.spec.ts
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
  // The clock is moved before each test, so that each test starts in a new window of the rate limit.
  beforeEach(() => clock.advance(120_000));

  const makeAccount = () => makeUser(first.db, { organizationId });
  const generateAddress = () => `198.51.${(addressCount += 1) >> 8}.${addressCount & 255}`;
  const signIn = (harness: Harness, email: string, password: string, from?: string) =>
    harness.http.with(from ? { 'x-forwarded-for': from } : {}).post('/api/auth/login', { email, password });
  const runConcurrently = (count: number, ask: (i: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
  const countByStatus = (answers: Answer[]) => {
    const byStatus: Record<number, number> = {};
    for (const { status } of answers) byStatus[status] = (byStatus[status] ?? 0) + 1;
    return byStatus;
  };

  it('no more passwords are checked for one account than the limit, however many arrive at once', async () => {
    const { email } = await makeAccount();
    const answers = await runConcurrently(120, () => signIn(first, email, 'a wrong guess', generateAddress()));
    expect(countByStatus(answers)).toEqual({ 401: limit, 429: 120 - limit });
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.code).toBe('rate_limited');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('wrong passwords for one account are counted over all replicas', async () => {
    const { email } = await makeAccount();
    const answers: Answer[] = [];
    // The sign-ins are sent in small groups, because a shared counter that answers too late is treated as unavailable.
    for (let i = 0; i < 10; i += 1) {
      answers.push(
        ...(await runConcurrently(4, (n) =>
          signIn([first, second][n % 2]!, email, 'a wrong guess', generateAddress()),
        )),
      );
    }
    expect(countByStatus(answers)).toEqual({ 401: limit, 429: 40 - limit });
  });

  it('wrong passwords from one address are counted over all accounts; beyond the limit, they count for no account', async () => {
    const from = generateAddress();
    const emails = (await runConcurrently(60, async () => ({ body: await makeAccount() }) as Answer)).map(
      ({ body }) => body.email,
    );
    const answers = await runConcurrently(60, (i) => signIn(first, emails[i]!, 'a wrong guess', from));
    expect(countByStatus(answers)).toEqual({ 401: limit, 429: 60 - limit });
    const [victim] = emails;
    await runConcurrently(60, () => signIn(first, victim!, 'a wrong guess', from));
    expect((await signIn(first, victim!, testPassword, generateAddress())).status).toBe(200);
  });

  it('wrong passwords are counted per process while Redis is unreachable', async () => {
    const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
    const alone = await startHarness({
      ...gateway,
      env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' },
      clock,
      database,
    });
    try {
      const { email } = await makeAccount();
      const answers = await runConcurrently(120, () => signIn(alone, email, 'a wrong guess', generateAddress()));
      expect(countByStatus(answers)).toEqual({ 401: limit, 429: 120 - limit });
    } finally {
      await alone.close();
    }
  });

  it('wrong passwords do not lock out the owner at an address that signed in within 30 days', async () => {
    const { email } = await makeAccount();
    const home = generateAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    clock.advance(29 * 24 * 3_600_000);
    await runConcurrently(60, () => signIn(first, email, 'a wrong guess', generateAddress()));
    expect((await signIn(first, email, testPassword, generateAddress())).status).toBe(429);
    expect((await signIn(second, email, testPassword, home)).status).toBe(200);
    clock.advance(31 * 24 * 3_600_000);
    await runConcurrently(60, () => signIn(first, email, 'a wrong guess', generateAddress()));
    expect((await signIn(first, email, testPassword, home)).status).toBe(429);
  });

  it('wrong passwords are also limited at an address where the owner has signed in', async () => {
    const { email } = await makeAccount();
    const home = generateAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    expect(countByStatus(await runConcurrently(60, () => signIn(first, email, 'a wrong guess', home)))).toEqual({
      401: limit,
      429: 40,
    });
  });

  it('the known addresses of an account are forgotten after a new password', async () => {
    const user = await makeAccount();
    const home = generateAddress();
    const { as } = await first.makeTenant();
    const admin = (await makeUser(first.db, { organizationId, role: 'admin' })).email;
    const session = await first.http.signIn(admin, testPassword);
    expect((await signIn(first, user.email, testPassword, home)).status).toBe(200);
    expect((await as.admin.patch(`/api/users/${user.id}`, { password: 'another password' })).status).toBe(404);
    expect((await session.patch(`/api/users/${user.id}`, { password: 'another password' })).status).toBe(200);
    await runConcurrently(60, () => signIn(first, user.email, testPassword, generateAddress()));
    expect((await signIn(first, user.email, 'another password', home)).status).toBe(429);
  });

  it('many concurrent sign-ins from unknown addresses are refused and do not block a known client', async () => {
    const { email } = await makeAccount();
    const home = generateAddress();
    expect((await signIn(first, email, testPassword, home)).status).toBe(200);
    const guesses = runConcurrently(300, () =>
      signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', generateAddress()),
    );
    const owner = await signIn(first, email, testPassword, home);
    const statuses = countByStatus(await guesses);
    expect(owner.status).toBe(200);
    expect(Object.keys(statuses).filter((status) => !['401', '429'].includes(status))).toEqual([]);
  });

  it('a sign-in that was refused because other clients used all slots does not count as a wrong password', async () => {
    const { email } = await makeAccount();
    const from = generateAddress();
    const crowd = runConcurrently(200, () =>
      signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', generateAddress()),
    );
    const answers = await runConcurrently(10, () => signIn(first, email, testPassword, from));
    await crowd;
    expect(Object.keys(countByStatus(answers)).every((status) => ['200', '429'].includes(status))).toBe(true);
    expect(
      countByStatus(await runConcurrently(limit - 1, () => signIn(first, email, testPassword, from)))[401],
    ).toBeUndefined();
    expect((await signIn(first, email, testPassword, from)).status).toBe(200);
  });

  describe('clients behind proxies', () => {
    it('a wrong password counts for the last address in X-Forwarded-For that is not a trusted proxy', async () => {
      const [from, forwarded] = [generateAddress(), () => `${generateAddress()}, ${from}, 192.0.2.7`];
      const answers = await runConcurrently(60, () =>
        signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', forwarded()),
      );
      expect(countByStatus(answers)).toEqual({ 401: limit, 429: 60 - limit });
    });

    it('all clients count as one if X-Forwarded-For has no address or is not from a trusted proxy', async () => {
      const invalid = await runConcurrently(60, (i) =>
        signIn(first, `nobody-${newId()}@example.com`, 'wrong guess', `someone-${i}`),
      );
      expect(countByStatus(invalid)).toEqual({ 401: limit, 429: 60 - limit });
      const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
      const env = { TRUST_PROXY: '192.0.2.0/24' };
      const bare = await startHarness({ ...gateway, env, clock, database });
      try {
        const answers = await runConcurrently(60, () =>
          signIn(bare, `nobody-${newId()}@example.com`, 'a wrong guess', generateAddress()),
        );
        expect(countByStatus(answers)).toEqual({ 401: limit, 429: 60 - limit });
      } finally {
        await bare.close();
      }
    });

    it('wrong passwords from one IPv6 network count as wrong passwords from one address', async () => {
      const answers = await runConcurrently(60, (i) =>
        signIn(first, `nobody-${newId()}@example.com`, 'a wrong guess', `2001:db8:7:8::${(i + 1).toString(16)}`),
      );
      expect(countByStatus(answers)).toEqual({ 401: limit, 429: 60 - limit });
    });
  });

  describe('new passwords', () => {
    it('new passwords are hashed a few at a time, so that users can sign in at the same time', async () => {
      const admin = await makeUser(first.db, { organizationId, role: 'admin' });
      const { email } = await makeAccount();
      const home = generateAddress();
      expect((await signIn(first, email, testPassword, home)).status).toBe(200);
      const session = await first.http.signIn(admin.email, testPassword);
      const creating = runConcurrently(100, () =>
        session.post('/api/users', { email: `new-${newId()}@example.com`, password: testPassword, role: 'viewer' }),
      );
      const owner = await signIn(first, email, testPassword, home);
      const statuses = countByStatus(await creating);
      expect(owner.status).toBe(200);
      expect(Object.keys(statuses).filter((status) => !['201', '429'].includes(status))).toEqual([]);
      const changed = await runConcurrently(100, () => session.patch(`/api/users/${admin.id}`, { role: 'admin' }));
      expect(countByStatus(changed)).toEqual({ 200: 100 });
    });
  });
});
