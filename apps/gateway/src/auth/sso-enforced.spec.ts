import {
  computeAuthenticatorCode,
  FakeClock,
  makeUser,
  type HttpClient,
  RealProvider,
  TestAuthenticator,
  testPassword,
} from '@muster/testing';
import { redirectUri, SsoFixture } from './sso-fixture.harness';

const page = { origin: 'http://localhost', rpId: 'localhost' };

describe('enforced single sign-on', () => {
  let provider: RealProvider;
  let fixture: SsoFixture;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    provider = await RealProvider.start(redirectUri);
    fixture = await SsoFixture.start(provider, clock, { REDIS_PREFIX: `enforced${process.pid}` });
  });
  afterAll(async () => {
    await fixture.harness.close();
    await provider.close();
  });
  beforeEach(async () => {
    clock.set(new Date());
    await fixture.moveToNewOrganization();
  });

  const requestLogin = (email: string, password = testPassword) =>
    fixture.createClientFrom().post('/api/auth/login', { email, password });
  const computeCode = (secret: string) => computeAuthenticatorCode(secret, clock.now());
  const required = { status: 403, body: { code: 'sso_required' } };

  const makeEnrolled = async (role: 'admin' | 'member' = 'admin') => {
    const { organizationId } = fixture.tenant;
    const email = `${role}-${clock.now().getTime()}@${fixture.domain}`;
    const user = await makeUser(fixture.harness.db, { organizationId, role, email });
    const session = await fixture.harness.http.signIn(email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    expect((await session.post('/api/auth/totp/confirm', { code: computeCode(secret) })).status).toBe(200);
    clock.advance(60_000);
    return { ...user, session, secret: secret as string };
  };
  const setBreakGlass = (id: string, value = true, admin: HttpClient = fixture.tenant.as.admin) =>
    admin.patch(`/api/users/${id}`, { breakGlass: value });
  const readWebhookEvents = (userId: string) =>
    fixture.harness.db.query<{ type: string; details: object }>(
      'system',
      'SELECT type, details FROM webhook_event WHERE subject_id = $1',
      [userId],
    );

  it('a password sign-in is refused with the same error for every account of a domain that enforces single sign-on', async () => {
    const { organizationId } = fixture.tenant;
    await makeUser(fixture.harness.db, { organizationId, email: `dana@${fixture.domain}` });
    await makeUser(fixture.harness.db, { organizationId, email: `off@${fixture.domain}`, disabled: true });
    await fixture.putSettings({ enforced: true });
    const answers = await Promise.all([
      requestLogin(`dana@${fixture.domain}`),
      requestLogin(`DANA@${fixture.domain}`, 'wrong password'),
      requestLogin(`off@${fixture.domain}`),
      requestLogin(`nobody@${fixture.domain}`),
    ]);
    for (const answer of answers) expect(answer).toMatchObject(required);
    expect(new Set(answers.map(({ body: { requestId: _, ...rest } }) => JSON.stringify(rest))).size).toBe(1);
    provider.accounts['dana'] = { email: `dana@${fixture.domain}`, email_verified: true };
    expect((await fixture.signIn()).me.status).toBe(200);
  });

  it('enforced single sign-on does not apply to other domains, other organizations and super_admins', async () => {
    const other = await fixture.harness.makeTenant();
    const inside = { organizationId: fixture.tenant.organizationId };
    const [guest, elsewhere, root] = await Promise.all([
      makeUser(fixture.harness.db, { ...inside, email: `guest@other-${fixture.domain}` }),
      makeUser(fixture.harness.db, { organizationId: other.organizationId, email: `elsewhere@${fixture.domain}` }),
      makeUser(fixture.harness.db, { ...inside, email: `root@${fixture.domain}`, role: 'super_admin' }),
    ]);
    await fixture.putSettings({ enforced: true });
    for (const { email } of [guest, elsewhere, root]) expect((await requestLogin(email)).status).toBe(200);
    expect(await requestLogin(elsewhere.email, 'wrong password')).toMatchObject(required);
  });

  it('single sign-on is enforced only while its domain is proved, and not after its settings are deleted', async () => {
    const { organizationId, as } = fixture.tenant;
    const { email } = await makeUser(fixture.harness.db, { organizationId, email: `dana@${fixture.domain}` });
    await fixture.putSettings({ enforced: true });
    expect(await requestLogin(email)).toMatchObject(required);
    await fixture.setDomains([]);
    expect((await requestLogin(email)).status).toBe(200);
    await fixture.setDomains([fixture.domain]);
    expect(await requestLogin(email)).toMatchObject(required);
    await as.admin.delete('/api/organization/sso');
    expect((await requestLogin(email)).status).toBe(200);
  });

  it('a sign-in ticket that was issued before single sign-on was enforced opens no session', async () => {
    const { email, secret } = await makeEnrolled();
    const { ticket } = (await requestLogin(email)).body;
    await fixture.putSettings({ enforced: true });
    const second = await fixture.createClientFrom().post('/api/auth/login/totp', { ticket, code: computeCode(secret) });
    expect(second).toMatchObject(required);
  });

  it('a sign-in by emergency access needs the second factor, is audited, and emits a webhook event', async () => {
    const { id, email, secret } = await makeEnrolled();
    const { admin } = fixture.tenant.as;
    await admin.post('/api/webhook-endpoints', { url: 'http://127.0.0.1:9/hook', events: ['user.break_glass'] });
    expect((await setBreakGlass(id)).body).toMatchObject({ breakGlass: true });
    await fixture.putSettings({ enforced: true });
    expect(await requestLogin(email, 'wrong password')).toMatchObject(required);
    const first = await requestLogin(email);
    expect([first.status, first.body.needs]).toEqual([200, 'totp']);
    expect(await readWebhookEvents(id)).toEqual([]);
    const address = fixture.generateAddress();
    const second = await fixture
      .createClientFrom(address)
      .post('/api/auth/login/totp', { ticket: first.body.ticket, code: computeCode(secret) });
    expect([second.status, second.body.user.email]).toEqual([200, email]);
    expect(await readWebhookEvents(id)).toEqual([
      { type: 'user.break_glass', details: { userId: id, email, secondFactor: 'code', address } },
    ]);
    expect(await fixture.listAuditEntries('user.break_glass')).toMatchObject([
      { actor: { id, email }, target: { type: 'user', id }, changes: { secondFactor: 'code', address } },
    ]);
    expect((await setBreakGlass(id, false)).status).toBe(200);
    expect(await requestLogin(email)).toMatchObject(required);
  });

  it('a sign-in by emergency access is refused for an admin without a second factor', async () => {
    const { organizationId } = fixture.tenant;
    const admin = { organizationId, role: 'admin' as const, email: `bare@${fixture.domain}` };
    const { id, email } = await makeUser(fixture.harness.db, admin);
    await setBreakGlass(id);
    await fixture.putSettings({ enforced: true });
    expect(await requestLogin(email)).toMatchObject(required);
    await fixture.tenant.as.admin.patch('/api/organization/settings', { requireSecondFactor: true });
    expect(await requestLogin(email)).toMatchObject(required);
  });

  it('only one admin of an organization can have emergency access, and loses it together with the admin role', async () => {
    const { admin, member, super_admin: root } = fixture.tenant.userIds;
    const { id } = await makeEnrolled();
    expect((await setBreakGlass(admin)).status).toBe(200);
    expect(await setBreakGlass(id)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await setBreakGlass(member)).status).toBe(409);
    expect((await setBreakGlass(root, true, fixture.tenant.as.super_admin)).status).toBe(409);
    const demoted = await fixture.tenant.as.super_admin.patch(`/api/users/${admin}`, { role: 'member' });
    expect(demoted.body).toMatchObject({ role: 'member', breakGlass: false });
    expect((await setBreakGlass(id, true, fixture.tenant.as.super_admin)).status).toBe(200);
    const rows = await fixture.listAuditEntries('user.update', fixture.tenant.as.super_admin);
    expect(rows.map(({ changes }: any) => changes.breakGlass)).toEqual([
      [false, true],
      [true, false],
      [false, true],
    ]);
  });

  it('a user who signed in with the identity provider must prove their own second factor for sensitive changes', async () => {
    const { email, id } = await makeEnrolled();
    provider.accounts['dana'] = { email, email_verified: true };
    const { me, browser } = await fixture.signIn({ email });
    expect(me.body.user.id).toBe(id);
    const session = fixture.harness.http.with({ cookie: `muster_session=${browser.getCookie('muster_session')}` });
    const answer = await session.put('/api/organization/sso', fixture.buildSettings());
    expect(answer).toMatchObject({ status: 403, body: { code: 'step_up_required' } });
  });
});

describe('passkeys under enforced single sign-on', () => {
  it('a passkey of a domain that enforces single sign-on is refused, except that of the admin with emergency access', async () => {
    const provider = await RealProvider.start('http://localhost/api/auth/sso/callback');
    const clock = new FakeClock(new Date());
    const env = { REDIS_PREFIX: `enforcedkeys${process.pid}`, PUBLIC_APP_URL: page.origin };
    const fixture = await SsoFixture.start(provider, clock, env);
    try {
      await fixture.moveToNewOrganization();
      const { organizationId, as } = fixture.tenant;
      const addPasskey = async (role: 'member' | 'admin') => {
        const email = `${role}@${fixture.domain}`;
        const { id } = await makeUser(fixture.harness.db, { organizationId, role, email });
        const session = await fixture.harness.http.signIn(email, testPassword);
        const device = new TestAuthenticator(page);
        const options = (await session.post('/api/auth/passkeys/options')).body;
        const response = device.createCredential(options);
        expect((await session.post('/api/auth/passkeys', { name: 'Key', response })).status).toBe(201);
        return { id, device };
      };
      const signIn = async ({ device }: { device: TestAuthenticator }) => {
        const options = (await fixture.createClientFrom().post('/api/auth/passkeys/sign-in/options')).body;
        return fixture
          .createClientFrom()
          .post('/api/auth/passkeys/sign-in', { response: device.getAssertion(options) });
      };
      const [member, admin] = [await addPasskey('member'), await addPasskey('admin')];
      await as.admin.patch(`/api/users/${admin.id}`, { breakGlass: true });
      expect([(await signIn(member)).status, (await signIn(admin)).status]).toEqual([200, 200]);
      expect(await fixture.listAuditEntries('user.break_glass')).toEqual([]);
      await fixture.putSettings({ enforced: true });
      expect(await signIn(member)).toMatchObject({ status: 403, body: { code: 'sso_required' } });
      expect((await signIn(admin)).status).toBe(200);
      expect(await fixture.listAuditEntries('user.break_glass')).toMatchObject([
        { changes: { secondFactor: 'passkey' } },
      ]);
    } finally {
      await fixture.harness.close();
      await provider.close();
    }
  });
});
