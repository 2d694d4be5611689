import { FakeClock, type Harness, makeApiKey, startHarness } from '@muster/testing';
import { gateway } from './gateway.harness';

describe('rate limits at two gateways', () => {
  const clock = new FakeClock(new Date());
  const env = {
    RATE_LIMIT_PER_MINUTE: '50',
    RATE_LIMIT_ANONYMOUS_PER_MINUTE: '40',
    REDIS_PREFIX: `limits${process.pid}`,
  };
  let first: Harness;
  let second: Harness;

  beforeAll(async () => {
    first = await startHarness({ ...gateway, env, clock });
    const database = { url: first.databaseUrl, name: '', drop: async () => undefined };
    second = await startHarness({ ...gateway, env, clock, database });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });
  beforeEach(() => clock.advance(60_000));

  it('rate limits apply to a key over both gateways together, and report the remaining requests', async () => {
    const { organizationId } = await first.makeTenant();
    const { secret } = await makeApiKey(first.db, { organizationId });
    const clients = [first.http.withKey(secret), second.http.withKey(secret)];
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => clients[i % 2]!.get('/api/organization/settings')),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.code).toBe('rate_limited');
    expect(refused.headers.get('ratelimit-policy')).toBe('"default";q=50;w=60');
    expect(refused.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    clock.advance(60_000);
    expect((await clients[0]!.get('/api/organization/settings')).status).toBe(200);
  });

  it('rate limits apply to an address without valid credentials', async () => {
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, i) =>
        [first, second][i % 2]!.http.withKey('msk_guessing_0123456789abcdef').get('/api/users'),
      ),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(40);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(50);
  });

  it('rate limits never apply to the liveness probe', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => first.http.get('/api/health')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
