import { listPermissions, type Role } from '@muster/contracts';
import { FakeClock, makeUser, RealProvider, runBehindLock, testPassword } from '@muster/testing';
import { publicAddress, redirectUri, SsoFixture } from './sso-fixture.harness';
import type { TestBrowser } from './sso.harness';

const refused = 'Single sign-on did not succeed. Start again. If it fails again, ask an admin of your organization.';

const buildPermissions = (role: Role) => ({ role, permissions: [...listPermissions({ role })] });

describe('single sign-on with a real provider', () => {
  let provider: RealProvider;
  let fixture: SsoFixture;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    provider = await RealProvider.start(redirectUri);
    fixture = await SsoFixture.start(provider, clock, { REDIS_PREFIX: `sso${process.pid}` });
  });
  afterAll(async () => {
    await fixture.harness.close();
    await provider.close();
  });
  beforeEach(async () => {
    clock.set(new Date());
    await fixture.moveToNewOrganization();
    provider.subject = 'dana';
    provider.accounts['dana'] = { email: `dana@${fixture.domain}`, email_verified: true };
  });

  const getDanaEmail = () => `dana@${fixture.domain}`;
  /** Expects that the address opens no session, with the one error that all causes have. */
  const expectRefused = async (browser: TestBrowser, callback: string) => {
    const answer = await browser.openAddress(callback);
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated', detail: refused } });
    expect(browser.getCookie('muster_session')).toBeUndefined();
    expect((await browser.openAddress('/api/auth/me')).status).toBe(401);
  };

  it('single sign-on sends the browser to the provider with PKCE, a state and a nonce, which are new each time', async () => {
    const requestSsoStart = async () =>
      (await fixture.openBrowser().openAddress(`/api/auth/sso/start?email=${getDanaEmail()}`)).location!;
    const [first, second] = [await requestSsoStart(), await requestSsoStart()];
    expect(first.origin).toBe(provider.issuer);
    const sent = Object.fromEntries(first.searchParams);
    expect(sent).toMatchObject({
      ...{ client_id: 'muster', response_type: 'code', redirect_uri: redirectUri, scope: 'openid email profile' },
      ...{ code_challenge_method: 'S256', login_hint: getDanaEmail() },
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(sent[name]).toMatch(/^[\w-]{43}$/);
      expect(second.searchParams.get(name)).not.toBe(sent[name]);
    }
  });

  it('a user’s first single sign-on creates the account as a viewer and opens a session', async () => {
    const { status, location, me, browser } = await fixture.signIn();
    expect([status, location?.href]).toEqual([302, `${publicAddress}/app`]);
    const { id } = me.body.user;
    expect(me.body.user).toEqual({ id, email: getDanaEmail(), ...buildPermissions('viewer') });
    expect(browser.getCookie('muster_sso')).toBeUndefined();
    expect((await fixture.signIn()).me.body.user.id).toBe(id);
    expect(await fixture.listAuditEntries('user.create')).toMatchObject([
      {
        actor: { kind: 'system', id: 'single sign-on' },
        target: { id },
        changes: { email: getDanaEmail(), role: 'viewer' },
      },
    ]);
    const sessions = await fixture.listAuditEntries('session.create');
    expect(sessions.filter(({ actor }: any) => actor.id === id)).toMatchObject([
      { changes: { via: 'sso' } },
      { changes: { via: 'sso' } },
    ]);
    const password = await fixture
      .createClientFrom()
      .post('/api/auth/login', { email: getDanaEmail(), password: testPassword });
    expect(password.status).toBe(401);
  });

  it('each single sign-on sets the user’s role from the role claim, of which the highest role counts', async () => {
    await fixture.putSettings({ roleClaim: 'groups', roleMap: { Owners: 'admin', Staff: 'member' } });
    const signInWithGroups = async (groups: unknown) => {
      provider.accounts['dana'] = { email: getDanaEmail(), email_verified: true, groups };
      return (await fixture.signIn()).me.body.user.role;
    };
    expect(await signInWithGroups(['Staff', 'Owners', 'Others'])).toBe('admin');
    expect(await signInWithGroups(['Staff'])).toBe('member');
    expect(await signInWithGroups('Owners')).toBe('admin');
    expect(await signInWithGroups(['constructor', 'super_admin', 'admin'])).toBe('viewer');
    expect(await signInWithGroups(undefined)).toBe('viewer');
    expect((await fixture.listAuditEntries('user.update')).map(({ changes }: any) => changes.role)).toEqual([
      ['admin', 'viewer'],
      ['member', 'admin'],
      ['admin', 'member'],
    ]);
  });

  it('a role claim selects a role of the organization by the role map or by name; the one with most permissions counts', async () => {
    const { admin } = fixture.tenant.as;
    const permissions = ['runs.read', 'audit.read'];
    expect((await admin.post('/api/roles', { name: 'Front desk', permissions })).status).toBe(201);
    const signInWithGroups = async (groups: unknown) => {
      provider.accounts['dana'] = { email: getDanaEmail(), email_verified: true, groups };
      return (await fixture.signIn()).me.body.user.role;
    };
    await fixture.putSettings({ roleClaim: 'groups', roleMap: { Desk: 'Front desk', Staff: 'member' } });
    expect(await signInWithGroups(['Desk'])).toBe('Front desk');
    expect(await signInWithGroups(['Desk', 'Staff'])).toBe('member');
    expect(await signInWithGroups(['Front desk'])).toBe('viewer');
    await fixture.putSettings({ roleClaim: 'groups' });
    expect(await signInWithGroups(['Front desk', 'super_admin', 'No role'])).toBe('Front desk');
    expect(await signInWithGroups(['super_admin'])).toBe('viewer');
  });

  it('the last admin stays an admin even if the role claim of the identity provider has a lower role', async () => {
    const { tenant } = fixture;
    await fixture.putSettings({ roleClaim: 'groups', roleMap: { Owners: 'admin' } });
    provider.accounts['dana'] = { email: getDanaEmail(), email_verified: true, groups: 'Owners' };
    const { browser } = await fixture.signIn();
    const admin = fixture.harness.http.with({ cookie: `muster_session=${browser.getCookie('muster_session')}` });
    for (const id of [tenant.userIds.admin, tenant.userIds.super_admin]) {
      await fixture.harness.db.query('system', 'UPDATE app_user SET disabled = true WHERE id = $1', [id]);
    }
    provider.accounts['dana'] = { email: getDanaEmail(), email_verified: true };
    expect((await fixture.signIn()).me.body.user.role).toBe('admin');
    expect((await admin.get('/api/auth/me')).body.user.role).toBe('admin');
  });

  it('single sign-on uses an existing account with the verified address, which keeps its role if no role claim is set up', async () => {
    const { organizationId } = fixture.tenant;
    const user = await makeUser(fixture.harness.db, { organizationId, role: 'member', email: getDanaEmail() });
    provider.accounts['dana'] = { email: getDanaEmail().toUpperCase(), email_verified: true };
    expect((await fixture.signIn()).me.body.user).toEqual({
      id: user.id,
      email: getDanaEmail(),
      ...buildPermissions('member'),
    });
    expect(await fixture.listUsersByEmail(getDanaEmail())).toHaveLength(1);
  });

  it.each([
    ['an unverified address', { email_verified: false }],
    ['an address without email_verified', { email_verified: undefined }],
    ['an address of another domain', { email: 'dana@other.test' }],
    ['an address of a subdomain', { email: 'dana@sub.acme.test' }],
    ['no address', { email: undefined }],
    ['two addresses in one', { email: 'dana@other.test@acme.test' }],
  ])('single sign-on refuses a user with %s and creates no account', async (_, claims: Record<string, unknown>) => {
    const email = claims['email'] as string | undefined;
    provider.accounts['dana'] = {
      ...{ email: getDanaEmail(), email_verified: true, ...claims },
      ...(email ? { email: email.replace('acme.test', fixture.domain) } : {}),
    };
    const browser = fixture.openBrowser();
    await expectRefused(browser, await browser.signInAtProvider(getDanaEmail()));
    expect(await fixture.listUsersByEmail('dana@')).toEqual([]);
  });

  it('single sign-on refuses disabled users, super_admins and users of other organizations with the same error', async () => {
    const { organizationId } = fixture.tenant;
    const other = await fixture.harness.makeTenant();
    for (const [name, user] of Object.entries({
      disabled: { organizationId, disabled: true },
      root: { organizationId, role: 'super_admin' as const },
      elsewhere: { organizationId: other.organizationId, role: 'admin' as const },
    })) {
      const email = `${name}@${fixture.domain}`;
      await makeUser(fixture.harness.db, { ...user, email });
      provider.accounts['dana'] = { email, email_verified: true };
      const browser = fixture.openBrowser();
      await expectRefused(browser, await browser.signInAtProvider(email));
    }
    expect(fixture.harness.logs.join('')).toMatch(/the account is disabled/);
  });

  it('single sign-on refuses a user whose domain has lost its proof or is no longer in the settings', async () => {
    const browser = fixture.openBrowser();
    const callback = await browser.signInAtProvider(getDanaEmail());
    await fixture.setDomains([]);
    await expectRefused(browser, callback);
    expect((await fixture.createClientFrom().get(`/api/auth/sso/start?email=${getDanaEmail()}`)).status).toBe(404);
    await fixture.setDomains([fixture.domain]);
    const again = await browser.signInAtProvider(getDanaEmail());
    await fixture.putSettings({ domains: [] });
    await expectRefused(browser, again);
  });

  it('a single sign-on waits for a concurrent change of its domain, and is refused if the domain loses its proof', async () => {
    const browser = fixture.openBrowser();
    const callback = await browser.signInAtProvider(getDanaEmail());
    const [answer] = await runBehindLock(
      fixture.harness.db,
      (tx) =>
        tx.execute('UPDATE organization_domain SET proved_at = NULL, proved_by = NULL WHERE domain = $1', [
          fixture.domain,
        ]),
      () => [browser.openAddress(callback)],
    );
    expect(answer!.status).toBe(401);
    expect(await fixture.listUsersByEmail(getDanaEmail())).toEqual([]);
  });

  it('a sign-in response of the identity provider is accepted once, and only from the browser that started the sign-in', async () => {
    const [browser, stranger] = [fixture.openBrowser(), fixture.openBrowser()];
    await stranger.signInAtProvider(getDanaEmail());
    const callback = await browser.signInAtProvider(getDanaEmail());
    await expectRefused(fixture.openBrowser(), callback);
    await expectRefused(stranger, callback);
    expect((await browser.openAddress(callback)).status).toBe(302);
    expect((await browser.openAddress('/api/auth/me')).status).toBe(200);
    const replay = await browser.openAddress(callback);
    expect(replay.status).toBe(401);
    expect(replay.headers.getSetCookie()).toEqual([]);
  });

  it('a sign-in response is refused with the code of another sign-in, without a state, and after ten minutes', async () => {
    const [browser, victim] = [fixture.openBrowser(), fixture.openBrowser()];
    const stolen = new URL(await victim.signInAtProvider(getDanaEmail())).searchParams.get('code')!;
    const swapped = new URL(await browser.signInAtProvider(getDanaEmail()));
    swapped.searchParams.set('code', stolen);
    await expectRefused(browser, swapped.href);
    const stateless = new URL(await browser.signInAtProvider(getDanaEmail()));
    stateless.searchParams.delete('state');
    await expectRefused(browser, stateless.href);
    const late = await browser.signInAtProvider(getDanaEmail());
    clock.advance(600_001);
    await expectRefused(browser, late);
  });

  it('a single sign-on expires after ten minutes, even if the user has just signed in at the provider', async () => {
    const finishSignInAfter = async (ms: number) => {
      const now = Date.now();
      clock.set(new Date(now - ms));
      const browser = fixture.openBrowser();
      const callback = await browser.signInAtProvider(getDanaEmail());
      clock.set(new Date(now));
      return (await browser.openAddress(callback)).status;
    };
    expect(await finishSignInAfter(599_999)).toBe(302);
    expect(await finishSignInAfter(600_000)).toBe(401);
  });

  it('a sign-in response of the identity provider is refused if it names another issuer or none', async () => {
    for (const iss of ['https://other.test', null]) {
      const browser = fixture.openBrowser();
      const callback = new URL(await browser.signInAtProvider(getDanaEmail()));
      if (iss === null) callback.searchParams.delete('iss');
      else callback.searchParams.set('iss', iss);
      await expectRefused(browser, callback.href);
    }
  });

  it('a sign-in response is refused after the organization has changed its identity provider', async () => {
    const browser = fixture.openBrowser();
    const callback = await browser.signInAtProvider(getDanaEmail());
    await fixture.putSettings({ issuer: 'https://other.test' });
    await expectRefused(browser, callback);
  });

  it('the clocks of the service and the identity provider may differ by 30 seconds', async () => {
    const signInAt = async (ms: number) => {
      const browser = fixture.openBrowser();
      const callback = await browser.signInAtProvider(getDanaEmail());
      clock.advance(ms);
      const { status } = await browser.openAddress(callback);
      clock.advance(-ms);
      return status;
    };
    // The ID token of the provider is valid for 120 seconds.
    expect(await signInAt(140_000)).toBe(302);
    expect(await signInAt(155_000)).toBe(401);
    expect(await signInAt(-20_000)).toBe(302);
    expect(await signInAt(-45_000)).toBe(401);
  });

  it('single sign-on works at once after the identity provider has changed its signing keys', async () => {
    expect((await fixture.signIn()).me.status).toBe(200);
    await provider.rotateKeys();
    expect((await fixture.signIn()).me.status).toBe(200);
  });

  it('a browser whose single sign-on fails is sent to the sign-in page, and never to another site', async () => {
    const page = { accept: 'text/html,application/xhtml+xml' };
    const browser = fixture.openBrowser();
    const failed = await browser.openAddress(
      '/api/auth/sso/callback?state=x&code=y&RelayState=https://evil.test',
      page,
    );
    expect([failed.status, failed.headers.get('location')]).toEqual([302, '/app/login?sso=unauthenticated']);
    const unknown = await browser.openAddress('/api/auth/sso/start?email=dana@unknown.test', page);
    expect([unknown.status, unknown.headers.get('location')]).toEqual([302, '/app/login?sso=not_found']);
    const denied = new URL(await browser.signInAtProvider(getDanaEmail()));
    denied.search = new URLSearchParams({
      ...{ error: 'access_denied', error_description: '<script>', iss: provider.issuer },
      state: denied.searchParams.get('state')!,
    }).toString();
    expect((await browser.openAddress(denied.href, page)).headers.get('location')).toBe(
      '/app/login?sso=unauthenticated',
    );
  });

  it('a page of another site cannot start a single sign-on', async () => {
    const requestSsoStartFrom = (site: string) =>
      fixture.createClientFrom().with({ 'sec-fetch-site': site }).get(`/api/auth/sso/start?email=${getDanaEmail()}`);
    expect([(await requestSsoStartFrom('cross-site')).status, (await requestSsoStartFrom('same-site')).status]).toEqual(
      [403, 403],
    );
    expect([(await requestSsoStartFrom('same-origin')).status, (await requestSsoStartFrom('none')).status]).toEqual([
      302, 302,
    ]);
  });

  it('the start of a single sign-on does not reveal whether an address has an account', async () => {
    await makeUser(fixture.harness.db, { organizationId: fixture.tenant.organizationId, email: getDanaEmail() });
    const [known, unknown] = await Promise.all(
      [getDanaEmail(), `nobody@${fixture.domain}`].map((email) =>
        fixture.openBrowser().openAddress(`/api/auth/sso/start?email=${email}`),
      ),
    );
    expect([known!.status, unknown!.status]).toEqual([302, 302]);
    expect([...unknown!.location!.searchParams.keys()]).toEqual([...known!.location!.searchParams.keys()]);
  });

  it('failed single sign-ons from one address are limited like failed sign-ins with a password', async () => {
    const address = fixture.generateAddress();
    const statuses = [];
    for (let times = 0; times < 21; times += 1) {
      statuses.push((await fixture.createClientFrom(address).get('/api/auth/sso/callback?state=x&code=y')).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429]);
    expect((await fixture.createClientFrom(address).get(`/api/auth/sso/start?email=${getDanaEmail()}`)).status).toBe(
      429,
    );
    expect((await fixture.createClientFrom().get(`/api/auth/sso/start?email=${getDanaEmail()}`)).status).toBe(302);
  });
});
