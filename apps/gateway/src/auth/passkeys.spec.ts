import {
  computeAuthenticatorCode,
  FakeClock,
  type Harness,
  HttpClient,
  makeUser,
  runBehindLock,
  startHarness,
  type Tenant,
  TestAuthenticator,
  testPassword,
} from '@muster/testing';
import { purgeExpiredCredentials } from '@muster/access';
import { gateway } from '../gateway.harness';

const page = { origin: 'https://muster.example.com', rpId: 'muster.example.com' };

describe('passkeys', () => {
  let harness: Harness;
  let tenant: Tenant;
  let organizationId: string;
  let addressCount = 0;
  const clock = new FakeClock(new Date());
  const env = { REDIS_PREFIX: `passkeys${process.pid}`, TRUST_PROXY: '127.0.0.1', PUBLIC_APP_URL: `${page.origin}/` };

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env, clock });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    clock.advance(7_200_000);
    tenant = await harness.makeTenant();
    ({ organizationId } = tenant);
  });

  const generateAddress = () => `198.51.${100 + ((addressCount += 1) >> 8)}.${addressCount & 255}`;
  const createClientFrom = (address = generateAddress()) => harness.http.with({ 'x-forwarded-for': address });
  const readSignInOptions = async () => (await createClientFrom().post('/api/auth/passkeys/sign-in/options')).body;
  const signIn = (response: object, address?: string) =>
    createClientFrom(address).post('/api/auth/passkeys/sign-in', { response });
  const createSignedInClient = (answer: { headers: Headers }) =>
    harness.http.with({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! });
  const requestLogin = (email: string) => createClientFrom().post('/api/auth/login', { email, password: testPassword });
  const readCreationOptions = async (session: HttpClient) => (await session.post('/api/auth/passkeys/options')).body;
  const addPasskey = async (session: HttpClient, name = 'Telephone') => {
    const device = new TestAuthenticator(page);
    const response = device.createCredential(await readCreationOptions(session));
    const { status, body } = await session.post('/api/auth/passkeys', { name, response });
    expect([status, body.name]).toEqual([201, name]);
    return Object.assign(device, { passkeyId: body.id as string });
  };
  /** Creates a user with a passkey and no other factor. */
  const makePasskeyUser = async (role: 'viewer' | 'member' | 'admin' = 'member', organization = organizationId) => {
    const user = await makeUser(harness.db, { organizationId: organization, role });
    const session = await harness.http.signIn(user.email, testPassword);
    return { ...user, session, device: await addPasskey(session) };
  };
  const listAuditActions = async (id: string) =>
    (await tenant.as.admin.get(`/api/audit?targetId=${id}`)).body.entries.map((e: { action: string }) => e.action);

  it('a passkey that is created for the configured domain and a verified user is listed only to its owner', async () => {
    const user = await makeUser(harness.db, { organizationId });
    const session = await harness.http.signIn(user.email, testPassword);
    const other = await harness.http.signIn(user.email, testPassword);
    const options = (await session.with({ host: 'evil.example' }).post('/api/auth/passkeys/options')).body;
    expect(options).toMatchObject({
      rp: { id: page.rpId, name: 'Muster' },
      user: { name: user.email },
      timeout: 300_000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const device = await addPasskey(session);
    expect((await other.get('/api/auth/me')).status).toBe(401);
    const second = await addPasskey(session, 'Key ring');
    expect((await readCreationOptions(session)).excludeCredentials.map(({ id }: { id: string }) => id).sort()).toEqual(
      [device.id, second.id].sort(),
    );
    const { passkeys, nextCursor } = (await session.get('/api/auth/passkeys?limit=1')).body;
    expect(passkeys).toEqual([
      { id: device.passkeyId, name: 'Telephone', createdAt: clock.now().toISOString(), lastUsedAt: null },
    ]);
    expect((await session.get(`/api/auth/passkeys?cursor=${nextCursor}`)).body.passkeys[0].name).toBe('Key ring');
    expect((await tenant.as.member.get('/api/auth/passkeys')).body.passkeys).toEqual([]);
    expect((await tenant.as.viewer.get(`/api/users/${user.id}`)).body.secondFactorSince).toBe(
      clock.now().toISOString(),
    );
    expect(await listAuditActions(user.id)).toContain('passkey.create');
  });

  it('a passkey alone signs its user in, and also counts as the second factor', async () => {
    const strict = await harness.makeTenant();
    const user = await makeUser(harness.db, { organizationId: strict.organizationId, role: 'admin' });
    const device = await addPasskey(await harness.http.signIn(user.email, testPassword));
    await strict.as.admin.patch('/api/organization/settings', { requireSecondFactor: true });
    const options = await readSignInOptions();
    expect(options).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: page.rpId,
      timeout: 300_000,
      userVerification: 'required',
    });
    const answer = await signIn(device.getAssertion(options));
    expect(answer.body).toMatchObject({ user: { id: user.id, email: user.email } });
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-muster_session=.*HttpOnly.*Secure/);
    const session = createSignedInClient(answer);
    expect((await session.post('/api/api-keys', { name: 'k', scope: 'api' })).status).toBe(201);
    expect((await session.get('/api/auth/passkeys')).body.passkeys[0].lastUsedAt).toBe(clock.now().toISOString());
  });

  it('a passkey that is the only second factor is required after the password and accepted for a step-up', async () => {
    const { email, device } = await makePasskeyUser('admin');
    const first = await requestLogin(email);
    expect(first.body).toEqual({ needs: 'passkey', ticket: expect.any(String) });
    expect(first.headers.get('set-cookie')).toBeNull();
    const { ticket } = first.body;
    const sendSecondStep = (body: object) => createClientFrom().post('/api/auth/login/totp', { ticket, ...body });
    expect((await sendSecondStep({ code: '123456' })).status).toBe(401);
    expect(
      (await sendSecondStep({ code: '123456', passkey: device.getAssertion(await readSignInOptions()) })).status,
    ).toBe(400);
    const otherDevice = (await makePasskeyUser()).device;
    expect((await sendSecondStep({ passkey: otherDevice.getAssertion(await readSignInOptions()) })).status).toBe(401);
    const session = createSignedInClient(
      await sendSecondStep({ passkey: device.getAssertion(await readSignInOptions()) }),
    );
    clock.advance(15 * 60_000 + 1);
    const createApiKey = () => session.post('/api/api-keys', { name: 'k', scope: 'api' });
    expect((await createApiKey()).body.code).toBe('step_up_required');
    const requestStepUp = (passkey: object) => session.post('/api/auth/step-up', { passkey });
    const used = device.getAssertion(await readSignInOptions());
    expect((await requestStepUp(otherDevice.getAssertion(await readSignInOptions()))).status).toBe(403);
    expect((await createApiKey()).status).toBe(403);
    expect((await requestStepUp(used)).status).toBe(200);
    expect((await requestStepUp(used)).status).toBe(403);
    expect((await createApiKey()).status).toBe(201);
  });

  it('every invalid passkey response is refused with the same error', async () => {
    const { id, device, session } = await makePasskeyUser();
    const nobody = new TestAuthenticator(page);
    nobody.userHandle = device.userHandle;
    const stolen = new TestAuthenticator(page);
    stolen.userHandle = device.userHandle;
    const replayed = device.getAssertion(await readSignInOptions());
    expect((await signIn(replayed)).status).toBe(200);
    const ofCreation = await readCreationOptions(session);
    const late = await readSignInOptions();
    clock.advance(300_000);
    const wrongs: [string, object][] = [
      ['a response that was used', replayed],
      ['an unknown challenge', device.getAssertion({ challenge: 'A'.repeat(43) })],
      ['a challenge that is too old', device.getAssertion(late)],
      ['a challenge for adding a passkey', device.getAssertion(ofCreation)],
      ['another origin', device.getAssertion(await readSignInOptions(), { origin: 'https://evil.example' })],
      ['a weaker origin', device.getAssertion(await readSignInOptions(), { origin: 'http://muster.example.com' })],
      ['another domain', device.getAssertion(await readSignInOptions(), { rpId: 'evil.example' })],
      ['no verified user', device.getAssertion(await readSignInOptions(), { userVerified: false })],
      ['an unknown passkey', nobody.getAssertion(await readSignInOptions())],
      ['another key', { ...stolen.getAssertion(await readSignInOptions()), id: device.id, rawId: device.id }],
      ['no client data', { ...device.getAssertion(await readSignInOptions()), response: {} }],
    ];
    const handed = device.getAssertion(await readSignInOptions());
    wrongs.push([
      'another owner',
      { ...handed, response: { ...handed.response, userHandle: 'AZLwxHuOfTqcVS9Ka4wNHg' } },
    ]);
    const answers = new Map<string, string[]>();
    for (const [name, response] of wrongs) {
      const { status, headers, body } = await signIn(response);
      expect(headers.get('set-cookie')).toBeNull();
      const { requestId: _, ...rest } = body;
      const answer = JSON.stringify([status, rest]);
      answers.set(answer, [...(answers.get(answer) ?? []), name]);
    }
    expect([...answers.values()]).toEqual([wrongs.map(([name]) => name)]);
    expect([...answers.keys()][0]).toContain('401');
    expect((await signIn({ id: 7 })).status).toBe(400);
    // A challenge is valid for one response, even if that response is invalid.
    const options = await readSignInOptions();
    expect((await signIn(device.getAssertion(options, { userVerified: false }))).status).toBe(401);
    expect((await signIn(device.getAssertion(options))).status).toBe(401);
    expect((await signIn(device.getAssertion(await readSignInOptions()))).status).toBe(200);
    expect(await listAuditActions(id)).not.toContain('passkey.refuse');
  });

  it('a passkey whose counter does not increase is refused and recorded, unless the counter is always 0', async () => {
    const { id, device } = await makePasskeyUser();
    expect((await signIn(device.getAssertion(await readSignInOptions(), { counter: 7 }))).status).toBe(200);
    for (const counter of [7, 6, 0]) {
      expect((await signIn(device.getAssertion(await readSignInOptions(), { counter }))).status).toBe(401);
    }
    const { entries } = (await tenant.as.admin.get(`/api/audit?targetId=${id}&action=passkey.refuse`)).body;
    expect(entries.map(({ changes }: { changes: { counter: number[] } }) => changes.counter)).toEqual([
      [7, 0],
      [7, 6],
      [7, 7],
    ]);
    expect((await signIn(device.getAssertion(await readSignInOptions(), { counter: 8 }))).status).toBe(200);
    const still = (await makePasskeyUser()).device;
    expect((await signIn(still.getAssertion(await readSignInOptions(), { counter: 0 }))).status).toBe(200);
    expect((await signIn(still.getAssertion(await readSignInOptions(), { counter: 0 }))).status).toBe(200);
  });

  it('only one of two concurrent sign-ins with the same passkey response is accepted', async () => {
    const { device } = await makePasskeyUser();
    const answer = device.getAssertion(await readSignInOptions());
    const both = await Promise.all([signIn(answer), signIn(answer)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  it('no passkey is added for an invalid or repeated response, or for another user’s challenge', async () => {
    const user = await makeUser(harness.db, { organizationId });
    const session = await harness.http.signIn(user.email, testPassword);
    const sendPasskey = (response: object) => session.post('/api/auth/passkeys', { name: 'x', response });
    const wrong = [{ challenge: 'A'.repeat(43) }, { origin: 'https://evil.example' }, { rpId: 'evil.example' }];
    for (const answering of [...wrong, { userVerified: false }]) {
      const response = new TestAuthenticator(page).createCredential(await readCreationOptions(session), answering);
      const { status, body } = await sendPasskey(response);
      expect([status, body.errors[0].field]).toEqual([400, 'response']);
    }
    expect(
      (await sendPasskey(new TestAuthenticator(page).createCredential(await readCreationOptions(tenant.as.viewer))))
        .status,
    ).toBe(400);
    expect((await requestLogin(user.email)).body.user.id).toBe(user.id);
    const device = new TestAuthenticator(page);
    const response = device.createCredential(await readCreationOptions(session));
    expect((await sendPasskey(response)).status).toBe(201);
    expect((await sendPasskey(response)).status).toBe(400);
    expect((await sendPasskey(device.createCredential(await readCreationOptions(session)))).status).toBe(409);
    const foreign = (await harness.makeTenant()).as.member;
    const taken = device.createCredential(await readCreationOptions(foreign));
    expect((await foreign.post('/api/auth/passkeys', { name: 'x', response: taken })).status).toBe(409);
  });

  it('a user can have twenty passkeys, and adds another one only after removing one', async () => {
    const { session, device } = await makePasskeyUser();
    for (let n = 2; n <= 20; n += 1) await addPasskey(session, `Device ${n}`);
    const addAnother = async () => {
      const response = new TestAuthenticator(page).createCredential(await readCreationOptions(session));
      return session.post('/api/auth/passkeys', { name: 'Device 21', response });
    };
    const refused = await addAnother();
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect((await session.delete(`/api/auth/passkeys/${device.passkeyId}`)).status).toBe(204);
    expect((await addAnother()).status).toBe(201);
  });

  it('a passkey of a disabled or deleted user is refused, with a limit on wrong passkeys per address', async () => {
    const { id, device } = await makePasskeyUser();
    expect((await tenant.as.admin.delete(`/api/users/${id}`)).status).toBe(204);
    expect((await signIn(device.getAssertion(await readSignInOptions()))).status).toBe(401);
    await harness.db.query('system', 'DELETE FROM app_user WHERE id = $1', [id]);
    expect((await signIn(device.getAssertion(await readSignInOptions()))).status).toBe(401);
    const { device: good } = await makePasskeyUser();
    const address = generateAddress();
    const wrong = new TestAuthenticator(page).getAssertion(await readSignInOptions());
    for (let guess = 0; guess < 20; guess += 1) expect((await signIn(wrong, address)).status).toBe(401);
    expect((await signIn(wrong, address)).status).toBe(429);
    expect((await signIn(good.getAssertion(await readSignInOptions()))).status).toBe(200);
    const evil = harness.http.with({ origin: 'https://evil.example' });
    expect((await evil.post('/api/auth/passkeys/sign-in/options')).status).toBe(403);
    expect((await evil.post('/api/auth/passkeys/sign-in', { response: wrong })).status).toBe(403);
  });

  it('owners can remove their passkeys, even the last one, with a proof from the last 15 minutes', async () => {
    const { id, email, session, device } = await makePasskeyUser();
    const second = await addPasskey(session, 'Key ring');
    const elsewhere = createSignedInClient(await signIn(second.getAssertion(await readSignInOptions())));
    const otherClient = tenant.as.admin;
    expect((await otherClient.delete(`/api/auth/passkeys/${device.passkeyId}`)).status).toBe(404);
    clock.advance(15 * 60_000 + 1);
    const removePasskey = (passkeyId: string) => session.delete(`/api/auth/passkeys/${passkeyId}`);
    expect((await removePasskey(second.passkeyId)).body.code).toBe('step_up_required');
    for (const path of ['totp', 'passkeys/options']) {
      expect((await session.post(`/api/auth/${path}`)).body.code).toBe('step_up_required');
    }
    const proof = device.getAssertion(await readSignInOptions());
    expect((await session.post('/api/auth/step-up', { passkey: proof })).status).toBe(200);
    expect((await removePasskey(second.passkeyId)).status).toBe(204);
    expect((await elsewhere.get('/api/auth/me')).status).toBe(401);
    expect((await signIn(second.getAssertion(await readSignInOptions()))).status).toBe(401);
    expect((await requestLogin(email)).body.needs).toBe('passkey');
    expect((await removePasskey(device.passkeyId)).status).toBe(204);
    expect((await session.get('/api/auth/me')).status).toBe(200);
    expect((await requestLogin(email)).body.user.id).toBe(id);
    expect(await listAuditActions(id)).toContain('passkey.delete');
  });

  it('passkeys stay when the authenticator app is removed, but not when an admin resets the factor', async () => {
    const { id, email, session, device } = await makePasskeyUser();
    const { secret } = (await session.post('/api/auth/totp')).body;
    const computeCode = (windows = 0) => computeAuthenticatorCode(secret, clock.now(), windows);
    expect((await session.post('/api/auth/totp/confirm', { code: computeCode() })).status).toBe(200);
    expect((await requestLogin(email)).body.needs).toBe('totp');
    const removal = { password: testPassword, passkey: device.getAssertion(await readSignInOptions()) };
    expect((await session.send('DELETE', '/api/auth/totp', removal)).status).toBe(204);
    expect((await session.get('/api/auth/totp')).body).toEqual({ since: null, recoveryCodesLeft: 0, passkeys: 1 });
    expect((await requestLogin(email)).body.needs).toBe('passkey');
    expect((await tenant.as.admin.delete(`/api/users/${id}/totp`)).status).toBe(204);
    expect((await session.get('/api/auth/me')).status).toBe(401);
    expect((await signIn(device.getAssertion(await readSignInOptions()))).status).toBe(401);
    expect((await requestLogin(email)).body.user.id).toBe(id);
  });

  it('passkey challenges that were not answered are deleted', async () => {
    await readSignInOptions();
    expect(
      (await purgeExpiredCredentials(harness.db, new Date(clock.now().getTime() + 300_001))).challenges,
    ).toBeGreaterThan(0);
    const left = await harness.db.query('system', 'SELECT 1 FROM passkey_challenge');
    expect(left).toEqual([]);
  });

  it('passkeys use the domain localhost without a configured address, but cannot be used with an IP address', async () => {
    const beginWithAppUrl = async (publicAppUrl: string | undefined) => {
      const other = await startHarness({ ...gateway, env: { PUBLIC_APP_URL: publicAppUrl } });
      try {
        return (await other.http.with({ host: 'evil.example' }).post('/api/auth/passkeys/sign-in/options')).body;
      } finally {
        await other.close();
      }
    };
    expect((await beginWithAppUrl(undefined)).rpId).toBe('localhost');
    expect(await beginWithAppUrl('http://192.0.2.7:8080')).toMatchObject({
      status: 409,
      detail: expect.stringMatching(/host name/),
    });
  });

  it('a passkey is refused if a copy with a higher counter is accepted while the request waits', async () => {
    const { device } = await makePasskeyUser();
    expect((await signIn(device.getAssertion(await readSignInOptions(), { counter: 1 }))).status).toBe(200);
    const response = device.getAssertion(await readSignInOptions(), { counter: 5 });
    const [answer] = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM passkey WHERE id = $1 FOR UPDATE', [device.passkeyId]),
      () => [signIn(response)],
      (tx) => tx.execute('UPDATE passkey SET counter = 9 WHERE id = $1', [device.passkeyId]),
    );
    expect(answer!.status).toBe(401);
  });
});
