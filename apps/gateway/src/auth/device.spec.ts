import { purgeExpired } from '@muster/access';
import { FakeClock, type Harness, makeUser, startHarness, type Tenant, testPassword } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('a program that signs in through a browser', () => {
  let harness: Harness;
  let tenant: Tenant;
  const clock = new FakeClock(new Date());
  const env = { REDIS_PREFIX: `device${process.pid}`, PUBLIC_APP_URL: 'https://muster.example.com' };

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env, clock });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    clock.advance(7_200_000);
    tenant = await harness.makeTenant();
  });

  const begin = async (body: object = { device_name: 'muster on front-desk-3' }) =>
    (await harness.http.post('/api/auth/device', body)).body;
  const ask = (device_code: string) => harness.http.post('/api/auth/device/token', { device_code });
  const refusal = async (device_code: string) => {
    const { status, body } = await ask(device_code);
    expect(body.code).toBe(body.error);
    return [status, body.error];
  };
  const answer = (userCode: string, allow: boolean, by = tenant.as.member) =>
    by.post('/api/auth/device/answer', { userCode, allow });
  /** Approves a program’s sign-in, and returns its key. */
  const letIn = async (by = tenant.as.member) => {
    const { user_code, device_code } = await begin();
    expect((await answer(user_code, true, by)).status).toBe(200);
    const { access_token } = (await ask(device_code)).body;
    return { key: access_token as string, as: harness.http.withKey(access_token), device_code };
  };

  it('shows a code, waits for the approval, and returns the key once', async () => {
    const codes = await begin();
    expect(codes).toEqual({
      device_code: expect.stringMatching(/^mdl_.{43}$/),
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
      verification_uri: 'https://muster.example.com/app/device',
      verification_uri_complete: `https://muster.example.com/app/device?code=${codes.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect(await refusal(codes.device_code)).toEqual([400, 'authorization_pending']);
    const typed = codes.user_code.toLowerCase().replace('-', ' ');
    expect((await tenant.as.viewer.get(`/api/auth/device?userCode=${encodeURIComponent(typed)}`)).body).toEqual({
      userCode: codes.user_code,
      deviceName: 'muster on front-desk-3',
      address: '127.0.0.1',
      askedAt: clock.now().toISOString(),
      expiresAt: new Date(clock.now().getTime() + 600_000).toISOString(),
    });
    expect((await answer(typed, true)).body).toEqual({ success: true });
    expect((await answer(typed, true)).status).toBe(404);
    const fetched = await ask(codes.device_code);
    expect(fetched.body).toEqual({ access_token: expect.stringMatching(/^msk_/), token_type: 'Bearer' });
    expect(await refusal(codes.device_code)).toEqual([400, 'expired_token']);

    const me = (await harness.http.withKey(fetched.body.access_token).get('/api/auth/me')).body;
    expect(me).toMatchObject({ user: { role: 'member' }, organization: { id: tenant.organizationId } });
    const { entries } = (await tenant.as.admin.get(`/api/audit?actorId=${tenant.userIds.member}`)).body;
    const actions = entries.map((entry: { action: string }) => entry.action);
    expect(actions.slice(0, 2)).toEqual(['api_key.create', 'device_login.allow']);
    expect(JSON.stringify(entries)).not.toContain(fetched.body.access_token);
    expect(JSON.stringify(entries)).not.toContain(codes.device_code);
  });

  it('refuses a program that was denied, whose code expired, or whose code is unknown', async () => {
    const denied = await begin({});
    expect((await answer(denied.user_code, false)).status).toBe(200);
    expect(await refusal(denied.device_code)).toEqual([400, 'access_denied']);
    const late = await begin({ client_id: 'muster' });
    clock.advance(600_001);
    expect(await refusal(late.device_code)).toEqual([400, 'expired_token']);
    expect((await answer(late.user_code, true)).status).toBe(404);
    expect(await refusal('mdl_of-nobody')).toEqual([400, 'expired_token']);
    expect((await purgeExpired(harness.db, clock.now())).deviceLogins).toBeGreaterThan(0);
    expect(
      (await harness.http.post('/api/auth/device/token', { device_code: 'x', grant_type: 'password' })).status,
    ).toBe(400);
    expect((await answer(late.user_code, true, tenant.api)).status).toBe(403);
    expect((await harness.http.get(`/api/auth/device?userCode=${late.user_code}`)).status).toBe(401);
  });

  it('asks a program that polls too often to slow down', async () => {
    const { device_code } = await begin();
    await ask(device_code);
    clock.advance(5_000);
    expect(await refusal(device_code)).toEqual([400, 'authorization_pending']);
    clock.advance(1_000);
    expect(await refusal(device_code)).toEqual([400, 'slow_down']);
    clock.advance(5_000);
    expect(await refusal(device_code)).toEqual([400, 'slow_down']);
    clock.advance(15_000);
    expect(await refusal(device_code)).toEqual([400, 'authorization_pending']);
  });

  it('approves a program once and returns its key once, for any number of concurrent requests', async () => {
    const { user_code, device_code } = await begin();
    const allowed = await Promise.all(Array.from({ length: 6 }, () => answer(user_code, true)));
    expect(allowed.filter(({ status }) => status === 200)).toHaveLength(1);
    const fetched = await Promise.all(Array.from({ length: 6 }, () => ask(device_code)));
    expect(fetched.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('gives a program its user’s role, member at most, and revokes its key with the account', async () => {
    const { organizationId, as } = tenant;
    const { as: ofAdmin } = await letIn(as.admin);
    expect((await ofAdmin.get('/api/auth/me')).body.user.role).toBe('member');
    const { as: ofViewer } = await letIn(as.viewer);
    expect((await ofViewer.get('/api/auth/me')).body.user.role).toBe('viewer');

    const dana = await makeUser(harness.db, { organizationId });
    const session = await harness.http.signIn(dana.email, testPassword);
    const { as: ofDana } = await letIn(session);
    await as.admin.patch(`/api/users/${dana.id}`, { role: 'viewer' });
    expect((await ofDana.get('/api/auth/me')).body.user.role).toBe('viewer');
    const waiting = await begin();
    await answer(waiting.user_code, true, session);
    await as.admin.patch(`/api/users/${dana.id}`, { disabled: true });
    expect((await ofDana.get('/api/auth/me')).status).toBe(401);
    expect(await refusal(waiting.device_code)).toEqual([400, 'access_denied']);
  });

  it('revokes a program’s key when its user changes the password; the user stays signed in', async () => {
    const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId });
    const session = await harness.http.signIn(email, testPassword);
    const { as: program } = await letIn(session);
    const { as: ofOther } = await letIn();
    const change = { oldPassword: testPassword, newPassword: 'another long password of hers' };
    expect((await session.post('/api/auth/password', change)).status).toBe(200);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    expect((await ofOther.get('/api/auth/me')).status).toBe(200);
    expect((await session.get('/api/auth/me')).status).toBe(200);
  });

  it('limits a program’s key to the organization’s maximum lifetime, and lets the program sign out', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { apiKeyMaxDays: 30 });
    const { user_code, device_code } = await begin();
    await answer(user_code, true);
    const { access_token, expires_in } = (await ask(device_code)).body;
    expect(expires_in).toBe(30 * 86_400);
    const program = harness.http.withKey(access_token);
    expect((await program.delete('/api/auth/device')).status).toBe(204);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    expect((await tenant.api.delete('/api/auth/device')).body).toMatchObject({ status: 409, code: 'conflict' });
    expect((await tenant.api.get('/api/auth/me')).status).toBe(200);
  });

  it('limits wrong codes per user, so that codes cannot be guessed', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => answer(`BBBB-BB${'BCDFGHJKLMNPQRSTVWXZ'[i % 20]}C`, true)),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(20).fill(404), ...Array(10).fill(429)]);
    const { user_code } = await begin();
    expect((await answer(user_code, true)).status).toBe(429);
    clock.advance(60_000);
    expect((await answer(user_code, true)).status).toBe(200);
  });
});
