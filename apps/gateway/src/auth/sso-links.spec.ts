import { FakeClock, makeUser, RealProvider, runBehindLock } from '@muster/testing';
import { redirectUri, SsoFixture } from './sso-fixture.harness';

describe('the accounts of a provider’s users', () => {
  let provider: RealProvider;
  let fixture: SsoFixture;

  beforeAll(async () => {
    provider = await RealProvider.start(redirectUri);
    const clock = new FakeClock(new Date());
    fixture = await SsoFixture.start(provider, clock, { REDIS_PREFIX: `links${process.pid}` });
  });
  afterAll(async () => {
    await fixture.harness.close();
    await provider.close();
  });
  beforeEach(() => fixture.moveToNewOrganization());

  const emailOf = (name: string) => `${name}@${fixture.domain}`;
  /** Signs in as a subject to which the provider gives an address. */
  const signIn = async (subject: string, name: string) => {
    provider.subject = subject;
    provider.accounts[subject] = { email: emailOf(name), email_verified: true };
    const { status, me } = await fixture.signIn({ email: emailOf(name) });
    return { status, user: me.body.user as { id: string; email: string } };
  };

  it('a user keeps the account when the provider changes the address, and the account gets the new address', async () => {
    const { user } = await signIn('a', 'dana');
    const changed = await signIn('a', 'dana.new');
    expect([changed.status, changed.user]).toMatchObject([302, { id: user.id, email: emailOf('dana.new') }]);
    const [{ changes, actor }] = await fixture.listAuditEntries('user.update');
    expect([actor.id, changes]).toEqual(['single sign-on', { email: [emailOf('dana'), emailOf('dana.new')] }]);
    // The free address belongs to another person now, who gets an account of their own.
    const other = await signIn('b', 'dana');
    expect([other.status, other.user.id === user.id]).toEqual([302, false]);
  });

  it('a user of the provider does not get an account that is linked to another user, even with its address', async () => {
    const { user } = await signIn('a', 'dana');
    expect((await signIn('b', 'dana')).status).toBe(401);
    expect(fixture.harness.logs.join('')).toContain('the account is linked to another user of the provider');
    expect((await signIn('a', 'dana')).user.id).toBe(user.id);
  });

  it('an account that is linked to nobody is linked at the first sign-in with its address', async () => {
    const { organizationId } = fixture.tenant;
    const invited = await makeUser(fixture.harness.db, { organizationId, email: emailOf('dana') });
    expect((await signIn('a', 'dana')).user.id).toBe(invited.id);
    expect((await signIn('b', 'dana')).status).toBe(401);
  });

  it('a linked user whose new address is that of another account is refused', async () => {
    const [dana, eve] = [await signIn('a', 'dana'), await signIn('b', 'eve')];
    expect((await signIn('a', 'eve')).status).toBe(401);
    expect((await signIn('a', 'dana')).user.id).toBe(dana.user.id);
    expect((await signIn('b', 'eve')).user.id).toBe(eve.user.id);
  });

  it('an account that an admin disables and enables again can be linked to another user of the provider', async () => {
    const { user } = await signIn('a', 'dana');
    const { admin } = fixture.tenant.as;
    for (const disabled of [true, false]) {
      expect((await admin.patch(`/api/users/${user.id}`, { disabled })).status).toBe(200);
    }
    expect((await signIn('b', 'dana')).user.id).toBe(user.id);
    expect((await signIn('a', 'dana')).status).toBe(401);
  });

  it('only one of two subjects that sign in with the address of one account at the same time gets it', async () => {
    const { organizationId } = fixture.tenant;
    await makeUser(fixture.harness.db, { organizationId, email: emailOf('dana') });
    const prepareCallback = async (subject: string) => {
      provider.subject = subject;
      provider.accounts[subject] = { email: emailOf('dana'), email_verified: true };
      const browser = fixture.openBrowser();
      const callback = await browser.signInAtProvider(emailOf('dana'));
      return () => browser.openAddress(callback);
    };
    const open = [await prepareCallback('a'), await prepareCallback('b')];
    const answers = await Promise.all(open.map((each) => each()));
    expect(answers.map(({ status }) => status).sort()).toEqual([302, 401]);
  });

  it.each([
    ['that is linked', true],
    ['that is not linked yet', false],
  ])('a sign-in that waits for an account %s is refused if the account is disabled meanwhile', async (_, isLinked) => {
    const { organizationId } = fixture.tenant;
    const { db } = fixture.harness;
    const { id } = await makeUser(db, { organizationId, email: emailOf('dana') });
    provider.subject = 'a';
    provider.accounts['a'] = { email: emailOf('dana'), email_verified: true };
    if (isLinked) expect((await signIn('a', 'dana')).user.id).toBe(id);
    const browser = fixture.openBrowser();
    const callback = await browser.signInAtProvider(emailOf('dana'));
    const [answer] = await runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM app_user WHERE id = $1 FOR UPDATE', [id]),
      () => [browser.openAddress(callback)],
      (tx) => tx.execute('UPDATE app_user SET disabled = true WHERE id = $1', [id]),
    );
    expect(answer!.status).toBe(401);
    expect(browser.getCookie('muster_session')).toBeUndefined();
  });
});
