import {
  computeAuthenticatorCode,
  FakeClock,
  type Harness,
  type HttpClient,
  makeUser,
  startHarness,
  type Tenant,
  testPassword,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('the token of a session', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    const env = { REDIS_PREFIX: `token${process.pid}`, STEP_UP_AFTER_MS: '120000' };
    harness = await startHarness({ ...gateway, env, clock });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    clock.advance(7_200_000);
    tenant = await harness.makeTenant();
  });

  const cookieOf = ({ headers }: { headers: Headers }) => headers.get('set-cookie')!.split(';')[0]!;
  const logIn = (email: string, client: HttpClient = harness.http) =>
    client.post('/api/auth/login', { email, password: testPassword });
  const readMeStatus = async (cookie: string) => (await harness.http.with({ cookie }).get('/api/auth/me')).status;
  /** Creates a user with a second factor; returns the cookie of the session and the secret of the app. */
  const makeEnrolledUser = async () => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId, role: 'admin' });
    const cookie = cookieOf(await logIn(user.email));
    const session = harness.http.with({ cookie });
    const { secret } = (await session.post('/api/auth/totp')).body;
    const code = computeAuthenticatorCode(secret, clock.now());
    expect((await session.post('/api/auth/totp/confirm', { code })).status).toBe(200);
    clock.advance(60_000);
    return { ...user, cookie, session, nextCode: () => computeAuthenticatorCode(secret, clock.now()) };
  };

  it('a sign-in ends the session that the browser had, also that of another user, and no other session', async () => {
    const other = await harness.makeTenant();
    const [first, second] = [
      await makeUser(harness.db, { organizationId: tenant.organizationId }),
      await makeUser(harness.db, { organizationId: other.organizationId }),
    ];
    const elsewhere = cookieOf(await logIn(first.email));
    const present = cookieOf(await logIn(first.email));
    const next = cookieOf(await logIn(second.email, harness.http.with({ cookie: present })));
    expect(await Promise.all([present, next, elsewhere].map(readMeStatus))).toEqual([401, 200, 200]);
    const { entries } = (await tenant.as.admin.get('/api/audit?action=session.delete')).body;
    expect(entries).toMatchObject([{ actor: { id: first.id }, changes: { replacedBy: expect.any(String) } }]);
  });

  it('a sign-in with a second factor ends the session that the browser had, and a failed one does not', async () => {
    const user = await makeEnrolledUser();
    const { ticket } = (await logIn(user.email, user.session)).body;
    const sendCode = (code: string) => user.session.post('/api/auth/login/totp', { ticket, code });
    expect((await sendCode('000000')).status).toBe(401);
    expect(await readMeStatus(user.cookie)).toBe(200);
    const next = cookieOf(await sendCode(user.nextCode()));
    expect([await readMeStatus(user.cookie), await readMeStatus(next)]).toEqual([401, 200]);
  });

  it('a sign-in with a wrong token does not end the session of that id', async () => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
    const cookie = cookieOf(await logIn(user.email));
    const forged = `${cookie.slice(0, -4)}wxyz`;
    expect((await logIn(user.email, harness.http.with({ cookie: forged }))).status).toBe(200);
    expect(await readMeStatus(cookie)).toBe(200);
  });

  it('a proof of the second factor gives a browser another token, and ends the previous one after 30 seconds', async () => {
    const user = await makeEnrolledUser();
    const browser = user.session.with({ 'sec-fetch-site': 'same-origin' });
    const stepUp = await browser.post('/api/auth/step-up', { code: user.nextCode() });
    expect(stepUp.status).toBe(200);
    const renewed = cookieOf(stepUp);
    expect(renewed).not.toBe(user.cookie);
    // Requests of other tabs may still be on their way with the previous token.
    expect([await readMeStatus(user.cookie), await readMeStatus(renewed)]).toEqual([200, 200]);
    clock.advance(30_000);
    expect([await readMeStatus(user.cookie), await readMeStatus(renewed)]).toEqual([401, 200]);
    const { sessions } = (await harness.http.with({ cookie: renewed }).get('/api/auth/sessions')).body;
    expect(sessions).toMatchObject([{ current: true }]);
  });

  it('a failed proof of the second factor gives no new token, and a program, which may ignore cookies, keeps its token', async () => {
    const user = await makeEnrolledUser();
    const browser = user.session.with({ 'sec-fetch-site': 'same-origin' });
    const failed = await browser.post('/api/auth/step-up', { code: '000000' });
    expect([failed.status, failed.headers.get('set-cookie')]).toEqual([403, null]);
    const proved = await user.session.post('/api/auth/step-up', { code: user.nextCode() });
    expect([proved.status, proved.headers.get('set-cookie')]).toEqual([200, null]);
    clock.advance(30_000);
    expect(await readMeStatus(user.cookie)).toBe(200);
  });

  it('a request that has an API key cannot sign a user in', async () => {
    const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId });
    const { api, worker } = tenant;
    const routes: [string, object][] = [
      ['login', { email, password: testPassword }],
      ['login/totp', { ticket: 'mst_x', code: '123456' }],
      ['login/enrolment', { ticket: 'mst_x' }],
      ['totp', { ticket: 'mst_x' }],
      ['totp/confirm', { ticket: 'mst_x', code: '123456' }],
      ['passkeys/sign-in/options', {}],
      ['forgot', { email }],
      ['device', {}],
    ];
    for (const [path, body] of routes) {
      for (const client of [api, worker]) {
        const answer = await client.post(`/api/auth/${path}`, body);
        expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'permission_denied']);
      }
    }
  });

  it('sensitive operations require a proof that is not older than STEP_UP_AFTER_MS', async () => {
    const user = await makeEnrolledUser();
    const makeKey = async () => (await user.session.post('/api/api-keys', { name: 'k', scope: 'api' })).status;
    clock.advance(60_000);
    expect(await makeKey()).toBe(201);
    clock.advance(1);
    expect(await makeKey()).toBe(403);
    expect((await user.session.post('/api/auth/step-up', { code: user.nextCode() })).status).toBe(200);
    expect(await makeKey()).toBe(201);
  });
});
