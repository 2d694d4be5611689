import { purgeExpiredCredentials } from '@muster/access';
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

  const startSignIn = async (body: object = { device_name: 'muster on front-desk-3' }) =>
    (await harness.http.post('/api/auth/device', body)).body;
  const pollToken = (device_code: string) => harness.http.post('/api/auth/device/token', { device_code });
  const readPollRefusal = async (device_code: string) => {
    const { status, body } = await pollToken(device_code);
    expect(body.code).toBe(body.error);
    return [status, body.error];
  };
  const answerDeviceRequest = (userCode: string, allow: boolean, by = tenant.as.member) =>
    by.post('/api/auth/device/answer', { userCode, allow });
  /** Approves a program’s sign-in, and returns its key. */
  const approveSignIn = async (by = tenant.as.member) => {
    const { user_code, device_code } = await startSignIn();
    expect((await answerDeviceRequest(user_code, true, by)).status).toBe(200);
    const { access_token } = (await pollToken(device_code)).body;
    return { key: access_token as string, as: harness.http.withKey(access_token), device_code };
  };

  it('a device sign-in shows a code, waits for the approval, and returns the key once', async () => {
    const codes = await startSignIn();
    expect(codes).toEqual({
      device_code: expect.stringMatching(/^mdl_.{43}$/),
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
      verification_uri: 'https://muster.example.com/app/device',
      verification_uri_complete: `https://muster.example.com/app/device?code=${codes.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect(await readPollRefusal(codes.device_code)).toEqual([400, 'authorization_pending']);
    const typed = codes.user_code.toLowerCase().replace('-', ' ');
    expect((await tenant.as.viewer.get(`/api/auth/device?userCode=${encodeURIComponent(typed)}`)).body).toEqual({
      userCode: codes.user_code,
      deviceName: 'muster on front-desk-3',
      address: '127.0.0.1',
      askedAt: clock.now().toISOString(),
      expiresAt: new Date(clock.now().getTime() + 600_000).toISOString(),
    });
    expect((await answerDeviceRequest(typed, true)).body).toEqual({ success: true });
    expect((await answerDeviceRequest(typed, true)).status).toBe(404);
    const fetched = await pollToken(codes.device_code);
    expect(fetched.body).toEqual({ access_token: expect.stringMatching(/^msk_/), token_type: 'Bearer' });
    expect(await readPollRefusal(codes.device_code)).toEqual([400, 'expired_token']);

    const me = (await harness.http.withKey(fetched.body.access_token).get('/api/auth/me')).body;
    expect(me).toMatchObject({ user: { role: 'member' }, organization: { id: tenant.organizationId } });
    const { entries } = (await tenant.as.admin.get(`/api/audit?actorId=${tenant.userIds.member}`)).body;
    const actions = entries.map((entry: { action: string }) => entry.action);
    expect(actions.slice(0, 2)).toEqual(['api_key.create', 'device_login.allow']);
    expect(JSON.stringify(entries)).not.toContain(fetched.body.access_token);
    expect(JSON.stringify(entries)).not.toContain(codes.device_code);
  });

  it('a device sign-in is refused if it was denied, or if its code is unknown or has expired', async () => {
    const denied = await startSignIn({});
    expect((await answerDeviceRequest(denied.user_code, false)).status).toBe(200);
    expect(await readPollRefusal(denied.device_code)).toEqual([400, 'access_denied']);
    const late = await startSignIn({ client_id: 'muster' });
    clock.advance(600_001);
    expect(await readPollRefusal(late.device_code)).toEqual([400, 'expired_token']);
    expect((await answerDeviceRequest(late.user_code, true)).status).toBe(404);
    expect(await readPollRefusal('mdl_of-nobody')).toEqual([400, 'expired_token']);
    expect((await purgeExpiredCredentials(harness.db, clock.now())).deviceLogins).toBeGreaterThan(0);
    expect(
      (await harness.http.post('/api/auth/device/token', { device_code: 'x', grant_type: 'password' })).status,
    ).toBe(400);
    expect((await answerDeviceRequest(late.user_code, true, tenant.api)).status).toBe(403);
    expect((await harness.http.get(`/api/auth/device?userCode=${late.user_code}`)).status).toBe(401);
  });

  it('a program that polls its device sign-in too often is asked to slow down', async () => {
    const { device_code } = await startSignIn();
    await pollToken(device_code);
    clock.advance(5_000);
    expect(await readPollRefusal(device_code)).toEqual([400, 'authorization_pending']);
    clock.advance(1_000);
    expect(await readPollRefusal(device_code)).toEqual([400, 'slow_down']);
    clock.advance(5_000);
    expect(await readPollRefusal(device_code)).toEqual([400, 'slow_down']);
    clock.advance(15_000);
    expect(await readPollRefusal(device_code)).toEqual([400, 'authorization_pending']);
  });

  it('a device sign-in is approved once and returns its key once, also to concurrent requests', async () => {
    const { user_code, device_code } = await startSignIn();
    const allowed = await Promise.all(Array.from({ length: 6 }, () => answerDeviceRequest(user_code, true)));
    expect(allowed.filter(({ status }) => status === 200)).toHaveLength(1);
    const fetched = await Promise.all(Array.from({ length: 6 }, () => pollToken(device_code)));
    expect(fetched.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('the key of a device sign-in has its user’s role, at most member, and is revoked with the account', async () => {
    const { organizationId, as } = tenant;
    const { as: ofAdmin } = await approveSignIn(as.admin);
    expect((await ofAdmin.get('/api/auth/me')).body.user.role).toBe('member');
    const { as: ofViewer } = await approveSignIn(as.viewer);
    expect((await ofViewer.get('/api/auth/me')).body.user.role).toBe('viewer');

    const dana = await makeUser(harness.db, { organizationId });
    const session = await harness.http.signIn(dana.email, testPassword);
    const { as: ofDana } = await approveSignIn(session);
    await as.admin.patch(`/api/users/${dana.id}`, { role: 'viewer' });
    expect((await ofDana.get('/api/auth/me')).body.user.role).toBe('viewer');
    const waiting = await startSignIn();
    await answerDeviceRequest(waiting.user_code, true, session);
    await as.admin.patch(`/api/users/${dana.id}`, { disabled: true });
    expect((await ofDana.get('/api/auth/me')).status).toBe(401);
    expect(await readPollRefusal(waiting.device_code)).toEqual([400, 'access_denied']);
  });

  it('a password change revokes the keys of the user’s device sign-ins; the user stays signed in', async () => {
    const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId });
    const session = await harness.http.signIn(email, testPassword);
    const { as: program } = await approveSignIn(session);
    const { as: ofOther } = await approveSignIn();
    const change = { oldPassword: testPassword, newPassword: 'another long password of hers' };
    expect((await session.post('/api/auth/password', change)).status).toBe(200);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    expect((await ofOther.get('/api/auth/me')).status).toBe(200);
    expect((await session.get('/api/auth/me')).status).toBe(200);
  });

  it('the key of a device sign-in has the organization’s maximum lifetime but can be revoked by its program', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { apiKeyMaxDays: 30 });
    const { user_code, device_code } = await startSignIn();
    await answerDeviceRequest(user_code, true);
    const { access_token, expires_in } = (await pollToken(device_code)).body;
    expect(expires_in).toBe(30 * 86_400);
    const program = harness.http.withKey(access_token);
    expect((await program.delete('/api/auth/device')).status).toBe(204);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    expect((await tenant.api.delete('/api/auth/device')).body).toMatchObject({ status: 409, code: 'conflict' });
    expect((await tenant.api.get('/api/auth/me')).status).toBe(200);
  });

  it('wrong device codes are limited per user, so that codes cannot be guessed', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => answerDeviceRequest(`BBBB-BB${'BCDFGHJKLMNPQRSTVWXZ'[i % 20]}C`, true)),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(20).fill(404), ...Array(10).fill(429)]);
    const { user_code } = await startSignIn();
    expect((await answerDeviceRequest(user_code, true)).status).toBe(429);
    clock.advance(60_000);
    expect((await answerDeviceRequest(user_code, true)).status).toBe(200);
  });

  it('a program may send its device sign-in as a form, as OAuth requires; a user approves or denies it by another route', async () => {
    const postForm = (path: string, text: string) =>
      harness.http.with({ 'content-type': 'application/x-www-form-urlencoded' }).send('POST', path, text);
    const grant = encodeURIComponent('urn:ietf:params:oauth:grant-type:device_code');
    const pollWithForm = (code: string) =>
      postForm('/api/auth/device/token', `grant_type=${grant}&device_code=${code}&client_id=cli`);
    const startWithForm = async () => (await postForm('/api/auth/device', 'client_id=muster+on+desk+4')).body;
    const codes = await startWithForm();
    expect((await pollWithForm(codes.device_code)).body.error).toBe('authorization_pending');
    const decideSignIn = (action: string, userCode: string) =>
      tenant.as.member.post(`/api/auth/device/${action}`, { userCode });
    expect((await tenant.api.post('/api/auth/device/approve', { userCode: codes.user_code })).status).toBe(403);
    expect((await decideSignIn('approve', codes.user_code)).body).toEqual({ success: true });
    clock.advance(5_000);
    expect((await pollWithForm(codes.device_code)).body.access_token).toMatch(/^msk_/);
    const denied = await startWithForm();
    expect((await decideSignIn('deny', denied.user_code)).status).toBe(200);
    expect((await pollWithForm(denied.device_code)).body.error).toBe('access_denied');
    expect((await decideSignIn('deny', denied.user_code)).status).toBe(404);

    for (const [text, field] of [
      ['client_id=a&client_id=b', 'client_id'],
      ['surprise=1', 'surprise'],
      ['__proto__=1', '__proto__'],
      [`client_id=${'x'.repeat(101)}`, 'client_id'],
    ] as const) {
      const { status, body } = await postForm('/api/auth/device', text);
      expect([text, status, body.errors?.[0].field]).toEqual([text, 400, field]);
    }
    // Other routes accept no form, from which a page of another site could send a request.
    expect((await postForm('/api/auth/login', 'email=a%40example.com&password=x')).status).toBe(415);
  });

  it('the codes of a device sign-in are valid for DEVICE_CODE_MS', async () => {
    const other = await startHarness({ ...gateway, env: { ...env, DEVICE_CODE_MS: '60000' }, clock });
    try {
      const { device_code, expires_in } = (await other.http.post('/api/auth/device', {})).body;
      expect(expires_in).toBe(60);
      const pollForError = async () => (await other.http.post('/api/auth/device/token', { device_code })).body.error;
      clock.advance(59_000);
      expect(await pollForError()).toBe('authorization_pending');
      clock.advance(1_000);
      expect(await pollForError()).toBe('expired_token');
    } finally {
      await other.close();
    }
  });
});
