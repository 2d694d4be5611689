import {
  computeAuthenticatorCode,
  FakeClock,
  type Harness,
  makeOrganization,
  makeUser,
  startHarness,
  testPassword,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('the super_admin of the configuration', () => {
  const email = 'Root@First.test';
  const clock = new FakeClock(new Date());
  let harness: Harness;

  afterEach(() => harness.close());

  const bootstrap = {
    BOOTSTRAP_ORGANIZATION: 'First',
    BOOTSTRAP_SUPER_ADMIN_EMAIL: email,
    BOOTSTRAP_SUPER_ADMIN_PASSWORD: testPassword,
  };
  const startGateway = async (publicAppUrl: string | undefined, env: Record<string, string> = bootstrap) => {
    const REDIS_PREFIX = `root${process.pid}`;
    harness = await startHarness({ ...gateway, clock, env: { REDIS_PREFIX, PUBLIC_APP_URL: publicAppUrl, ...env } });
  };
  const logIn = (password = testPassword) => harness.http.post('/api/auth/login', { email, password });
  const signedIn = ({ headers }: { headers: Headers }) =>
    harness.http.with({ cookie: headers.get('set-cookie')!.split(';')[0]! });

  it('the first sign-in requires a second factor if the service has a public address', async () => {
    await startGateway('https://muster.example.com');
    const { http } = harness;
    const { status, body, headers } = await logIn();
    expect([status, body]).toEqual([200, { needs: 'enrolment', ticket: expect.any(String) }]);
    expect(headers.get('set-cookie')).toBeNull();
    const { ticket } = body;
    for (const path of ['/api/auth/totp', '/api/auth/totp/confirm']) {
      for (const wrong of [undefined, `${ticket}x`]) {
        const refused = await http.post(path, { ticket: wrong, code: path.endsWith('confirm') ? '123456' : undefined });
        expect([path, wrong, refused.status]).toEqual([path, wrong, 401]);
      }
    }
    const codeOf = (secret: string) => computeAuthenticatorCode(secret, clock.now());
    const { secret } = (await http.post('/api/auth/totp', { ticket })).body;
    const confirmed = await http.post('/api/auth/totp/confirm', { ticket, code: codeOf(secret) });
    expect([confirmed.status, confirmed.body.recoveryCodes.length]).toEqual([200, 10]);
    expect((await signedIn(confirmed).get('/api/auth/me')).body.user).toMatchObject({ role: 'super_admin' });

    clock.advance(60_000);
    const again = (await logIn()).body;
    expect(again).toEqual({ needs: 'totp', ticket: expect.any(String) });
    // A ticket for the second step cannot replace the factor.
    expect((await http.post('/api/auth/totp', { ticket: again.ticket })).status).toBe(401);
    const second = await http.post('/api/auth/login/totp', { ticket: again.ticket, code: codeOf(secret) });
    expect(second.status).toBe(200);

    // Without a factor, the session ends, and the next sign-in requires a new one.
    clock.advance(60_000);
    const removal = { password: testPassword, code: codeOf(secret) };
    expect((await signedIn(second).send('DELETE', '/api/auth/totp', removal)).status).toBe(204);
    expect((await signedIn(second).get('/api/auth/me')).status).toBe(401);
    expect((await logIn()).body.needs).toBe('enrolment');
  });

  it('users other than the first super_admin need no second factor, even if the service has a public address', async () => {
    await startGateway('https://muster.example.com');
    const { organizationId } = await harness.makeTenant();
    const other = await makeUser(harness.db, { organizationId, role: 'super_admin' });
    const { body } = await harness.http.post('/api/auth/login', { email: other.email, password: testPassword });
    expect(body.user).toMatchObject({ id: other.id });
  });

  it('a super_admin from before the upgrade needs a second factor only if the organization requires one', async () => {
    await startGateway('https://muster.example.com', {});
    const { id: organizationId } = await makeOrganization(harness.db);
    // Creates the account as an earlier version did: the columns that the upgrade added have their default values.
    await makeUser(harness.db, { organizationId, role: 'super_admin', email: email.toLowerCase() });
    const session = signedIn(await logIn());
    expect((await session.patch('/api/organization/settings', { requireSecondFactor: true })).status).toBe(200);
    expect((await logIn()).body.needs).toBe('enrolment');
  });

  it.each([undefined, 'http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])(
    'the super_admin of the configuration needs only a password if the service has the local address %s',
    async (publicAppUrl) => {
      await startGateway(publicAppUrl);
      const answer = await logIn();
      expect([answer.status, answer.body.user.role]).toEqual([200, 'super_admin']);
      const session = signedIn(answer);
      const { secret } = (await session.post('/api/auth/totp')).body;
      const codeOf = () => computeAuthenticatorCode(secret, clock.now());
      expect((await session.post('/api/auth/totp/confirm', { code: codeOf() })).status).toBe(200);
      clock.advance(60_000);
      const removal = { password: testPassword, code: codeOf() };
      expect((await session.send('DELETE', '/api/auth/totp', removal)).status).toBe(204);
      expect((await session.get('/api/auth/me')).status).toBe(200);
    },
  );
});
