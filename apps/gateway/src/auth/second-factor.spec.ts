import { rewrapSecondFactors } from '@muster/access';
import {
  computeAuthenticatorCode,
  FakeClock,
  type Harness,
  HttpClient,
  makeUser,
  startHarness,
  type Tenant,
  testMasterKey,
  testPassword,
} from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { gateway } from '../gateway.harness';

describe('a second factor', () => {
  let harness: Harness;
  let tenant: Tenant;
  let organizationId: string;
  let addressCount = 0;
  const clock = new FakeClock(new Date());
  const env = { REDIS_PREFIX: `factor${process.pid}`, TRUST_PROXY: '127.0.0.1' };

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env, clock });
  });
  afterAll(() => harness.close());
  // Each test has a new code window, a new hour of the limit on wrong codes, and new users with open sessions.
  beforeEach(async () => {
    clock.advance(7_200_000);
    tenant = await harness.makeTenant();
    ({ organizationId } = tenant);
  });

  const generateAddress = () => `198.51.${100 + ((addressCount += 1) >> 8)}.${addressCount & 255}`;
  const requestLogin = (email: string, password = testPassword, from = generateAddress()) =>
    harness.http.with({ 'x-forwarded-for': from }).post('/api/auth/login', { email, password });
  const requestTicket = async (email: string) => (await requestLogin(email)).body.ticket as string;
  const sendCode = (ticket: string, code: string, from = generateAddress()) =>
    harness.http.with({ 'x-forwarded-for': from }).post('/api/auth/login/totp', { ticket, code });
  const createSignedInClient = (answer: { headers: Headers }) =>
    harness.http.with({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! });
  const computeCode = (secret: string, windows = 0) => computeAuthenticatorCode(secret, clock.now(), windows);
  const computeWrongCode = (secret: string) =>
    String((Number(computeCode(secret)) + 500_000) % 1_000_000).padStart(6, '0');
  /** Creates a user with a second factor, and moves the clock beyond the window of the first code. */
  const makeEnrolledUser = async (role: 'viewer' | 'member' | 'admin' = 'member', organization = organizationId) => {
    const user = await makeUser(harness.db, { organizationId: organization, role });
    const session = await harness.http.signIn(user.email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const confirmed = await session.post('/api/auth/totp/confirm', { code: computeCode(secret) });
    expect(confirmed.status).toBe(200);
    clock.advance(60_000);
    return { ...user, secret: secret as string, session, codes: confirmed.body.recoveryCodes as string[] };
  };
  const listAuditActions = async (id: string) =>
    (await tenant.as.admin.get(`/api/audit?targetId=${id}`)).body.entries.map((e: { action: string }) => e.action);

  it('a second factor shows its secret once, stores it sealed, and is enabled by its first code', async () => {
    const user = await makeUser(harness.db, { organizationId });
    const session = await harness.http.signIn(user.email, testPassword);
    const begun = (await session.post('/api/auth/totp')).body;
    expect(begun.otpauthUri).toBe(
      `otpauth://totp/Muster:${encodeURIComponent(user.email)}?secret=${begun.secret}&issuer=Muster`,
    );
    expect(begun.qrSvg).toMatch(/^<svg .*<\/svg>$/);
    expect((await requestLogin(user.email)).body.user.id).toBe(user.id);
    expect((await session.post('/api/auth/totp/confirm', { code: computeWrongCode(begun.secret) })).status).toBe(403);
    const { recoveryCodes } = (await session.post('/api/auth/totp/confirm', { code: computeCode(begun.secret) })).body;
    expect(new Set(recoveryCodes).size).toBe(10);
    // A character of base32 has 5 bits. Fewer than 112 bits would need a slow hash.
    const lengths = recoveryCodes.map((each: string) => each.replace(/[^a-z2-7]/g, '').length * 5);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(112);
    const [row] = await harness.db.query<object>('system', 'SELECT * FROM second_factor WHERE user_id = $1', [user.id]);
    const stored = JSON.stringify(row) + Object.values(row!).join(' ');
    for (const secret of [begun.secret, ...recoveryCodes]) expect(stored).not.toContain(secret);
    expect((await session.get('/api/auth/totp')).body).toEqual({
      since: clock.now().toISOString(),
      recoveryCodesLeft: 10,
      passkeys: 0,
    });
    expect((await tenant.as.viewer.get(`/api/users/${user.id}`)).body.secondFactorSince).toBe(
      clock.now().toISOString(),
    );
    expect((await session.post('/api/auth/totp')).status).toBe(409);
    expect(await listAuditActions(user.id)).toEqual(
      expect.arrayContaining(['second_factor.begin', 'second_factor.create']),
    );
  });

  it('the first step of a sign-in with a second factor returns a ticket that gives no access', async () => {
    const user = await makeEnrolledUser();
    const first = await requestLogin(user.email);
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ needs: 'totp', ticket: expect.stringMatching(/^mst_/) });
    expect(first.headers.get('set-cookie')).toBeNull();
    const { ticket } = first.body;
    const claims: Record<string, string>[] = [
      { cookie: `muster_session=${ticket}` },
      { cookie: `muster_session=${ticket.replace('mst', 'mse')}` },
      { 'x-api-key': ticket },
    ];
    for (const headers of claims) {
      expect((await harness.http.with(headers).get('/api/auth/me')).status).toBe(401);
      expect((await harness.http.with(headers).post('/api/auth/totp')).status).toBe(401);
    }
    expect((await harness.http.post('/api/auth/login/enrolment', { ticket })).status).toBe(401);
    const evil = harness.http.with({ origin: 'https://evil.example' });
    for (const path of ['totp', 'enrolment', 'enrolment/confirm']) {
      const body = { ticket, ...(path === 'enrolment' ? {} : { code: computeCode(user.secret) }) };
      expect((await evil.post(`/api/auth/login/${path}`, body)).status).toBe(403);
    }
    const second = await sendCode(ticket, computeCode(user.secret));
    expect(second.body).toMatchObject({ user: { id: user.id } });
    expect((await createSignedInClient(second).get('/api/auth/me')).status).toBe(200);
    expect(
      await listAuditActions((await createSignedInClient(second).get('/api/auth/sessions')).body.sessions[0].id),
    ).toEqual(['session.create']);
  });

  it('a wrong password gets the same error for every account, with or without a second factor', async () => {
    const [user, other] = [await makeEnrolledUser(), await makeUser(harness.db, { organizationId })];
    const answers = [
      await requestLogin(user.email, 'a wrong guess'),
      await requestLogin(other.email, 'a wrong guess'),
      await requestLogin('nobody@example.com', 'a wrong guess'),
    ];
    const distinct = answers.map(({ status, body: { requestId: _, ...body } }) => JSON.stringify({ status, ...body }));
    expect(new Set(distinct).size).toBe(1);
  });

  it('a code of a second factor is accepted only if neither it nor a later code was used before', async () => {
    const user = await makeEnrolledUser();
    const code = computeCode(user.secret);
    const [first, second, third] = [
      await requestTicket(user.email),
      await requestTicket(user.email),
      await requestTicket(user.email),
    ] as const;
    expect((await sendCode(first, code)).status).toBe(200);
    expect((await sendCode(second, code)).status).toBe(401);
    expect((await sendCode(third, computeCode(user.secret, -1))).status).toBe(401);
    expect((await sendCode(third, computeCode(user.secret, 2))).status).toBe(401);
    clock.advance(30_000);
    expect((await sendCode(third, computeCode(user.secret))).status).toBe(200);
  });

  it('only one of two concurrent sign-ins with the same code or the same ticket is accepted', async () => {
    const user = await makeEnrolledUser();
    const tickets = await Promise.all([requestTicket(user.email), requestTicket(user.email)]);
    const code = computeCode(user.secret);
    const answers = await Promise.all(tickets.map((ticket) => sendCode(ticket, code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    clock.advance(60_000);
    const ticket = await requestTicket(user.email);
    const [now, next] = [computeCode(user.secret), computeCode(user.secret, 1)];
    const same = await Promise.all([sendCode(ticket, now), sendCode(ticket, next)]);
    expect(same.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  it('a sign-in ticket ends after its use, after five wrong codes, and after 10 minutes', async () => {
    const user = await makeEnrolledUser();
    const used = await requestTicket(user.email);
    expect((await sendCode(used, computeCode(user.secret))).status).toBe(200);
    clock.advance(60_000);
    const again = await sendCode(used, computeCode(user.secret));
    expect(again.body.errors).toEqual([{ field: 'ticket', message: expect.any(String) }]);
    const guessed = await requestTicket(user.email);
    for (let guess = 0; guess < 5; guess += 1)
      expect((await sendCode(guessed, computeWrongCode(user.secret))).status).toBe(401);
    expect((await sendCode(guessed, computeCode(user.secret))).status).toBe(401);
    expect(await listAuditActions(user.id)).toContain('session.refuse_codes');
    const old = await requestTicket(user.email);
    clock.advance(600_000);
    expect((await sendCode(old, computeCode(user.secret))).status).toBe(401);
    const forged = `${(await requestTicket(user.email)).slice(0, -3)}xyz`;
    expect((await sendCode(forged, computeCode(user.secret))).status).toBe(401);
  });

  it('wrong codes are limited per account, but the owner can still sign in at a known address', async () => {
    const user = await makeEnrolledUser();
    const home = generateAddress();
    expect((await sendCode(await requestTicket(user.email), computeCode(user.secret), home)).status).toBe(200);
    clock.advance(3_600_000);
    const statuses: number[] = [];
    for (let ticket = 0; ticket < 6; ticket += 1) {
      const each = await requestTicket(user.email);
      for (let guess = 0; guess < 4; guess += 1)
        statuses.push((await sendCode(each, computeWrongCode(user.secret))).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(14);
    expect((await sendCode(await requestTicket(user.email), computeCode(user.secret))).status).toBe(429);
    const stolen = await harness.http
      .with({ 'x-forwarded-for': generateAddress() })
      .post('/api/auth/login/totp', { ticket: await requestTicket(user.email), recoveryCode: 'aaaa-aaaa-aaaa-aaaa' });
    expect(stolen.status).toBe(429);
    expect((await sendCode(await requestTicket(user.email), computeCode(user.secret), home)).status).toBe(200);
  });

  it('each recovery code is accepted once', async () => {
    const user = await makeEnrolledUser();
    const [first, second] = user.codes as [string, string];
    const recoverAccount = async (recoveryCode: string) =>
      harness.http.post('/api/auth/login/totp', { ticket: await requestTicket(user.email), recoveryCode });
    const both = await Promise.all([recoverAccount(first), recoverAccount(first.toUpperCase().replace(/-/g, ' '))]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const session = createSignedInClient(both.find(({ status }) => status === 200)!);
    expect((await session.get('/api/auth/totp')).body.recoveryCodesLeft).toBe(9);
    expect((await recoverAccount(second)).status).toBe(200);
    expect(await listAuditActions(user.id)).toContain('second_factor.use_recovery_code');
    const ticket = await requestTicket(user.email);
    for (const body of [{ ticket }, { ticket, code: '123456', recoveryCode: first }]) {
      expect((await harness.http.post('/api/auth/login/totp', body)).status).toBe(400);
    }
  });

  it('only the latest set-up of a second factor can be confirmed, and its confirmation ends older sessions', async () => {
    const user = await makeUser(harness.db, { organizationId });
    const [thief, owner] = [
      await harness.http.signIn(user.email, testPassword),
      await harness.http.signIn(user.email, testPassword),
    ];
    const stolen = (await thief.post('/api/auth/totp')).body.secret;
    const { secret } = (await owner.post('/api/auth/totp')).body;
    expect((await thief.post('/api/auth/totp/confirm', { code: computeCode(stolen) })).status).toBe(403);
    expect((await owner.post('/api/auth/totp/confirm', { code: computeCode(secret) })).status).toBe(200);
    expect((await thief.get('/api/auth/me')).status).toBe(401);
    expect((await owner.get('/api/auth/me')).status).toBe(200);
  });

  it('a user without a second factor must set one up at sign-in if the organization requires it', async () => {
    const strict = await harness.makeTenant();
    const user = await makeUser(harness.db, { organizationId: strict.organizationId, role: 'viewer' });
    expect((await strict.as.admin.patch('/api/organization/settings', { requireSecondFactor: true })).status).toBe(200);
    const first = await requestLogin(user.email);
    expect(first.body).toEqual({ needs: 'enrolment', ticket: expect.any(String) });
    expect(first.headers.get('set-cookie')).toBeNull();
    const { ticket } = first.body;
    const rival = (await requestLogin(user.email)).body.ticket;
    const postEnrolment = (path: string, body: object) => harness.http.post(`/api/auth/login/enrolment${path}`, body);
    expect((await harness.http.post('/api/auth/login/totp', { ticket, code: '123456' })).status).toBe(401);
    const { secret } = (await postEnrolment('', { ticket })).body;
    expect((await postEnrolment('/confirm', { ticket, code: computeWrongCode(secret) })).status).toBe(401);
    const done = await postEnrolment('/confirm', { ticket, code: computeCode(secret) });
    expect(done.body).toMatchObject({ user: { id: user.id } });
    expect(done.body.recoveryCodes).toHaveLength(10);
    expect((await createSignedInClient(done).get('/api/auth/me')).status).toBe(200);
    // A user who has a second factor cannot set up another one with the password alone.
    for (const old of [ticket, rival]) {
      expect((await postEnrolment('', { ticket: old })).status).toBe(401);
      expect((await postEnrolment('/confirm', { ticket: old, code: computeCode(secret) })).status).toBe(401);
    }
    expect((await requestLogin(user.email)).body.needs).toBe('totp');
    clock.advance(60_000);
    const removed = await createSignedInClient(done).send('DELETE', '/api/auth/totp', {
      password: testPassword,
      code: computeCode(secret),
    });
    expect(removed.status).toBe(204);
    expect((await createSignedInClient(done).get('/api/auth/me')).status).toBe(401);
    expect((await requestLogin(user.email)).body.needs).toBe('enrolment');
  });

  it('a second factor is removed with the password and a code, or by an admin if the user has lost it', async () => {
    const user = await makeEnrolledUser();
    const removeSecondFactor = (body: object) => user.session.send('DELETE', '/api/auth/totp', body);
    expect((await removeSecondFactor({ password: 'a wrong guess', code: computeCode(user.secret) })).status).toBe(403);
    expect((await removeSecondFactor({ password: testPassword, code: computeWrongCode(user.secret) })).status).toBe(
      403,
    );
    expect((await removeSecondFactor({ password: testPassword, code: computeCode(user.secret) })).status).toBe(204);
    expect((await user.session.get('/api/auth/me')).status).toBe(200);
    expect((await requestLogin(user.email)).body.user.id).toBe(user.id);

    const lost = await makeEnrolledUser();
    const half = await requestTicket(lost.email);
    const { admin, member } = tenant.as;
    const foreign = (await harness.makeTenant()).as.admin;
    expect((await member.delete(`/api/users/${lost.id}/totp`)).status).toBe(403);
    expect((await foreign.delete(`/api/users/${lost.id}/totp`)).status).toBe(404);
    expect((await admin.delete(`/api/users/${lost.id}/totp`)).status).toBe(204);
    expect((await admin.delete(`/api/users/${lost.id}/totp`)).status).toBe(409);
    expect((await lost.session.get('/api/auth/me')).status).toBe(401);
    expect((await sendCode(half, computeCode(lost.secret))).status).toBe(401);
    expect((await requestLogin(lost.email)).body.user.id).toBe(lost.id);
    expect(await listAuditActions(lost.id)).toContain('second_factor.reset');
  });

  it('unfinished sign-ins end when the password changes or the account is disabled', async () => {
    const user = await makeEnrolledUser();
    const half = await requestTicket(user.email);
    expect((await tenant.as.admin.patch(`/api/users/${user.id}`, { password: 'another password' })).status).toBe(200);
    expect((await sendCode(half, computeCode(user.secret))).status).toBe(401);
    const next = (await requestLogin(user.email, 'another password')).body.ticket;
    expect((await tenant.as.admin.delete(`/api/users/${user.id}`)).status).toBe(204);
    expect((await sendCode(next, computeCode(user.secret))).status).toBe(401);
  });

  it('a session needs a new proof of the second factor for sensitive actions after 15 minutes', async () => {
    const admin = await makeEnrolledUser('admin');
    const createApiKey = (session: HttpClient) => session.post('/api/api-keys', { name: 'k', scope: 'api' });
    expect((await createApiKey(admin.session)).status).toBe(201);
    clock.advance(15 * 60_000);
    const acts = [
      () => createApiKey(admin.session),
      () => admin.session.put('/api/vault/KEY', { value: 'x' }),
      () => admin.session.post('/api/users', { email: 'x@example.com', password: testPassword, role: 'viewer' }),
      () => admin.session.post('/api/roles', { name: 'x', permissions: ['runs.read'] }),
      () => admin.session.patch('/api/roles/x', { permissions: ['runs.read'] }),
      () => admin.session.delete('/api/roles/x'),
      () => admin.session.patch('/api/organization/settings', { monthlySpendLimitUsd: 5 }),
      () => admin.session.delete(`/api/agents/${admin.id}`),
      () => admin.session.post(`/api/agent/${admin.id}/action`, { action: 'terminate' }),
      () => admin.session.delete(`/api/jobs/${admin.id}`),
      () => admin.session.delete(`/api/users/${admin.id}/totp`),
    ];
    for (const act of acts) expect((await act()).body).toMatchObject({ status: 403, code: 'step_up_required' });
    expect((await admin.session.get('/api/api-keys')).status).toBe(200);
    const other = createSignedInClient(await sendCode(await requestTicket(admin.email), computeCode(admin.secret)));
    expect((await createApiKey(other)).status).toBe(201);
    expect((await createApiKey(admin.session)).status).toBe(403);
    const requestStepUp = (body: object) => admin.session.post('/api/auth/step-up', body);
    expect((await requestStepUp({ code: computeCode(admin.secret) })).status).toBe(403);
    expect((await requestStepUp({ code: computeCode(admin.secret, 1) })).status).toBe(200);
    expect((await createApiKey(admin.session)).status).toBe(201);
    expect((await requestStepUp({ ticket: await requestTicket(admin.email) })).status).toBe(400);
    // A user without a second factor needs no proof.
    expect((await tenant.as.admin.post('/api/auth/step-up', { code: '123456' })).status).toBe(403);
    expect((await createApiKey(tenant.as.admin)).status).toBe(201);
  });

  it('second-factor secrets stay bound to their owners when they are re-encrypted with a new master key', async () => {
    const [user, other] = [await makeEnrolledUser(), await makeEnrolledUser()];
    const young = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    const { looked, rewrapped } = await rewrapSecondFactors(harness.db, young);
    expect(rewrapped).toBe(looked);
    expect(looked).toBeGreaterThanOrEqual(2);
    const old = KeyRing.parseKeyRing(`${testMasterKey},young:${Buffer.alloc(32, 9).toString('base64')}`);
    expect((await rewrapSecondFactors(harness.db, old)).rewrapped).toBe(looked);
    expect((await sendCode(await requestTicket(user.email), computeCode(user.secret))).status).toBe(200);
    await harness.db.query(
      'system',
      `UPDATE second_factor f SET master_key_id = o.master_key_id, wrapped_key = o.wrapped_key, sealed = o.sealed
       FROM second_factor o WHERE o.user_id = $1 AND f.user_id = $2`,
      [user.id, other.id],
    );
    expect((await sendCode(await requestTicket(other.email), computeCode(user.secret))).status).toBe(500);
  });
});
