import { FakeClock, HostileProvider, RealProvider } from '@muster/testing';
import { redirectUri, SsoFixture } from './sso-fixture.harness';

const getUnixSeconds = () => Math.floor(Date.now() / 1000);

describe('the strength of a sign-in at the provider', () => {
  let fixture: SsoFixture;

  describe('with tokens of the test', () => {
    let provider: HostileProvider;

    beforeAll(async () => {
      provider = await HostileProvider.start();
      fixture = await SsoFixture.start(provider, new FakeClock(new Date()), { REDIS_PREFIX: `strength${process.pid}` });
    });
    afterAll(async () => {
      await fixture.harness.close();
      await provider.close();
    });

    /** Signs in with claims; returns the status and the parameters that the provider got. */
    const signInWith = async (claims: Record<string, unknown>) => {
      const browser = fixture.openBrowser();
      const { location } = await browser.openAddress(`/api/auth/sso/start?email=dana@${fixture.domain}`);
      const { searchParams } = location!;
      provider.nonce = searchParams.get('nonce');
      provider.change = (parts) => ({ claims: { ...parts.claims, email: `dana@${fixture.domain}`, ...claims } });
      const query = new URLSearchParams({ code: 'code', state: searchParams.get('state')! });
      const { status } = await browser.openAddress(`${redirectUri}?${query.toString()}`);
      return { status, acrValues: searchParams.get('acr_values'), maxAge: searchParams.get('max_age') };
    };
    const statusesOf = async (...claims: Record<string, unknown>[]) => {
      const statuses = [];
      for (const each of claims) statuses.push((await signInWith(each)).status);
      return statuses;
    };

    it('single sign-on accepts a sign-in of any strength at the provider, unless the organization requires a strength', async () => {
      await fixture.moveToNewOrganization();
      expect(await signInWith({})).toEqual({ status: 302, acrValues: null, maxAge: null });
      expect((await fixture.tenant.as.admin.get('/api/organization/sso')).body).toMatchObject({
        ...{ requiredAcr: [], requiredAmr: [], maxAgeSeconds: null },
      });
    });

    it('the acr of the provider’s ID token must be one of those that the organization requires, which the service requests', async () => {
      await fixture.moveToNewOrganization({ requiredAcr: ['urn:two-factors', 'urn:hardware'] });
      expect(await signInWith({ acr: 'urn:hardware' })).toMatchObject({
        ...{ status: 302, acrValues: 'urn:two-factors urn:hardware' },
      });
      const wrong = [{}, { acr: 'urn:password' }, { acr: ['urn:hardware'] }, { acr: 'urn:two-factors urn:hardware' }];
      expect(await statusesOf(...wrong)).toEqual([401, 401, 401, 401]);
      expect(fixture.harness.logs.join('')).toContain('the ID token names no required authentication context');
    });

    it('the amr of the provider’s ID token must contain all methods that the organization requires', async () => {
      await fixture.moveToNewOrganization({ requiredAmr: ['pwd', 'otp'] });
      expect(await statusesOf({ amr: ['otp', 'pwd', 'sms'] }, { amr: ['pwd', 'otp'] })).toEqual([302, 302]);
      expect(await statusesOf({}, { amr: ['pwd'] }, { amr: 'pwd otp' }, { amr: [['pwd', 'otp']] })).toEqual([
        ...[401, 401, 401, 401],
      ]);
    });

    it('the claims of the userinfo endpoint do not prove the strength of a sign-in at the provider', async () => {
      await fixture.moveToNewOrganization({ requiredAcr: ['urn:two-factors'] });
      const email = `dana@${fixture.domain}`;
      provider.userinfo = { sub: 'dana', email, email_verified: true, acr: 'urn:two-factors' };
      expect(await statusesOf({ email: undefined, email_verified: undefined })).toEqual([401]);
      provider.userinfo = null;
    });

    it('single sign-on requires a sign-in at the provider that is not older than the maximum age, which the service requests', async () => {
      await fixture.moveToNewOrganization({ maxAgeSeconds: 600 });
      expect(await signInWith({ auth_time: getUnixSeconds() - 590 })).toMatchObject({ status: 302, maxAge: '600' });
      // The clocks may differ by 30 seconds.
      expect(await statusesOf({ auth_time: getUnixSeconds() - 640 }, {}, { auth_time: 'today' })).toEqual([
        401, 401, 401,
      ]);
    });

    it('wrong settings for the strength of single sign-on are refused', async () => {
      await fixture.moveToNewOrganization();
      for (const wrong of [{ maxAgeSeconds: -1 }, { maxAgeSeconds: 1.5 }, { requiredAcr: 'x' }, { requiredAmr: [1] }]) {
        const { status, body } = await fixture.tenant.as.admin.put(
          '/api/organization/sso',
          fixture.buildSettings(wrong),
        );
        expect([wrong, status, body.errors?.[0].field]).toEqual([
          ...[wrong, 400],
          expect.stringContaining(Object.keys(wrong)[0]!),
        ]);
      }
    });
  });

  it('a real identity provider proves the time of the user’s sign-in', async () => {
    const provider = await RealProvider.start(redirectUri);
    fixture = await SsoFixture.start(provider, new FakeClock(new Date()), { REDIS_PREFIX: `age${process.pid}` });
    try {
      await fixture.moveToNewOrganization({ maxAgeSeconds: 3600 });
      provider.accounts['dana'] = { email: `dana@${fixture.domain}`, email_verified: true };
      expect((await fixture.signIn()).me.status).toBe(200);
    } finally {
      await fixture.harness.close();
      await provider.close();
    }
  });
});
