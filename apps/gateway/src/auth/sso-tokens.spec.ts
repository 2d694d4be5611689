import { createHash, generateKeyPairSync } from 'node:crypto';
import { FakeClock, HostileProvider } from '@muster/testing';
import { redirectUri, SsoFixture } from './sso-fixture.harness';

const getEpochSeconds = () => Math.floor(Date.now() / 1000);
const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 });

describe('single sign-on with a provider that makes wrong tokens', () => {
  let provider: HostileProvider;
  let fixture: SsoFixture;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    provider = await HostileProvider.start();
    fixture = await SsoFixture.start(provider, clock, { REDIS_PREFIX: `tokens${process.pid}` });
  });
  afterAll(async () => {
    await fixture.harness.close();
    await provider.close();
  });
  beforeEach(async () => {
    // Advances the clock by an hour, so that the metadata and the keys of the provider are read again.
    clock.set(new Date(Math.max(clock.now().getTime(), Date.now())));
    await fixture.moveToNewOrganization();
    provider.change = () => ({});
  });

  /** Signs in with the token that the fake provider makes, and returns the status and the signed-in user. */
  const signInAndReadError = async (query: Record<string, string> = {}) => {
    const browser = fixture.openBrowser();
    const { location } = await browser.openAddress(`/api/auth/sso/start?email=dana@${fixture.domain}`);
    provider.nonce = location!.searchParams.get('nonce');
    const parameters = new URLSearchParams({ code: 'code', state: location!.searchParams.get('state')!, ...query });
    const answer = await browser.openAddress(`${redirectUri}?${parameters.toString()}`);
    return { ...answer, me: await browser.openAddress('/api/auth/me'), challenge: location!.searchParams };
  };
  const setTokenClaims = (claims: Record<string, unknown>) => {
    provider.change = (parts) => ({
      claims: { ...parts.claims, email: `dana@${fixture.domain}`, ...claims },
    });
  };

  it('a valid ID token signs its user in; the service requests it with its client secret and the PKCE verifier', async () => {
    setTokenClaims({});
    provider.tokenRequests = [];
    const { status, me, challenge } = await signInAndReadError();
    expect([status, me.body.user.email]).toEqual([302, `dana@${fixture.domain}`]);
    const [{ authorization, form }] = provider.tokenRequests as [any];
    expect(authorization).toMatch(/^Basic /);
    expect(form.get('redirect_uri')).toBe(redirectUri);
    const hashed = createHash('sha256').update(form.get('code_verifier')).digest('base64url');
    expect(hashed).toBe(challenge.get('code_challenge'));
  });

  it.each([
    ['another nonce', () => ({ nonce: 'nonce-of-another-sign-in' })],
    ['no nonce', () => ({ nonce: undefined })],
    ['another audience', () => ({ aud: 'another-client' })],
    ['several audiences and no authorized party', () => ({ aud: ['muster', 'another-client'] })],
    ['another authorized party', () => ({ aud: ['muster', 'another-client'], azp: 'another-client' })],
    ['another issuer', () => ({ iss: 'https://other.test' })],
    ['an end in the past', () => ({ iat: getEpochSeconds() - 300, exp: getEpochSeconds() - 45 })],
    ['an issue in the future', () => ({ iat: getEpochSeconds() + 45 })],
    ['a beginning in the future', () => ({ nbf: getEpochSeconds() + 45 })],
    ['no end', () => ({ exp: undefined })],
    ['no time of issue', () => ({ iat: undefined })],
    ['no subject', () => ({ sub: undefined })],
    ['an unverified address', () => ({ email_verified: 'false' })],
  ])('an ID token with %s is refused', async (_, claims: () => Record<string, unknown>) => {
    setTokenClaims(claims());
    const { status, me } = await signInAndReadError();
    expect([status, me.status]).toEqual([401, 401]);
    expect(await fixture.listUsersByEmail('dana@')).toEqual([]);
  });

  it.each([
    ['the signature of another key', { key: otherKey.privateKey }],
    ['no signature', { header: { alg: 'none' } }],
    ['a signature with a shared secret', { header: { alg: 'HS256', kid: 'honest' } }],
    ['a key that the provider does not have', { header: { alg: 'RS256', kid: 'unknown' } }],
  ])('an ID token with %s is refused', async (_, parts) => {
    provider.change = ({ claims }) => ({ claims: { ...claims, email: `dana@${fixture.domain}` }, ...parts });
    const { status, me } = await signInAndReadError();
    expect([status, me.status]).toEqual([401, 401]);
    expect(await fixture.listUsersByEmail('dana@')).toEqual([]);
  });

  it('a sign-in response that names another issuer is refused even if the provider does not announce the parameter iss', async () => {
    setTokenClaims({});
    expect((await signInAndReadError({ iss: 'https://other.test' })).status).toBe(401);
    expect((await signInAndReadError({ iss: provider.issuer })).status).toBe(302);
  });

  it('claims that the ID token lacks are read from the userinfo endpoint, but only for the same subject', async () => {
    const email = `dana@${fixture.domain}`;
    setTokenClaims({ email: undefined, email_verified: undefined });
    provider.userinfo = { sub: 'somebody-else', email, email_verified: true };
    expect((await signInAndReadError()).status).toBe(401);
    provider.userinfo = { sub: 'dana', email, email_verified: true };
    expect((await signInAndReadError()).me.body.user.email).toBe(email);
    setTokenClaims({ email: undefined, email_verified: false });
    expect((await signInAndReadError()).status).toBe(401);
    // The token does not state which address is verified.
    setTokenClaims({ email: undefined, email_verified: true });
    provider.userinfo = { sub: 'dana', email };
    expect((await signInAndReadError()).status).toBe(401);
    provider.userinfo = { sub: 'dana', email, email_verified: true };
    // The endpoint has verified another address than that of the token.
    setTokenClaims({ email: `boss@${fixture.domain}`, email_verified: undefined });
    expect((await signInAndReadError()).status).toBe(401);
    provider.userinfo = null;
  });

  it('the signing keys of the identity provider are read again for an unknown key, at most once a minute', async () => {
    setTokenClaims({});
    expect((await signInAndReadError()).status).toBe(302);
    clock.advance(61_000);
    const setUnknownSigningKey = (kid: string) => {
      provider.change = ({ claims }) => ({
        header: { alg: 'RS256', kid },
        claims: { ...claims, email: `dana@${fixture.domain}`, exp: getEpochSeconds() + 600 },
      });
    };
    const before = provider.keyReads;
    setUnknownSigningKey('first');
    expect((await signInAndReadError()).status).toBe(401);
    expect(provider.keyReads - before).toBe(1);
    // The provider has the key by now, but the service does not ask again yet.
    provider.keys = [provider.key.publicJwk, { ...provider.key.publicJwk, kid: 'second' }];
    setUnknownSigningKey('second');
    for (let times = 0; times < 3; times += 1) expect((await signInAndReadError()).status).toBe(401);
    expect(provider.keyReads - before).toBe(1);
    clock.advance(60_001);
    expect((await signInAndReadError()).status).toBe(302);
    expect((await signInAndReadError()).status).toBe(302);
    expect(provider.keyReads - before).toBe(2);
  });

  it('a failed single sign-on reveals neither a token nor the client secret in its response and in the log', async () => {
    setTokenClaims({ aud: 'another-client' });
    const { text } = await signInAndReadError();
    expect(text).not.toMatch(/another-client|nonce|aud/);
    expect(fixture.harness.logs.join('')).not.toMatch(/eyJ|secret-of-the-client/);
  });

  it.each([
    ['an authorization endpoint that is a script', { authorization_endpoint: 'javascript:alert(1)' }],
    ['a token endpoint without https', { token_endpoint: 'http://other.test/token' }],
    ['another issuer in its metadata', { issuer: 'https://other.test' }],
  ])('an identity provider with %s is not used', async (_, metadata) => {
    // A cached configuration would hide the change.
    clock.advance(600_000);
    provider.metadata = metadata;
    const answer = await fixture.createClientFrom().get(`/api/auth/sso/start?email=dana@${fixture.domain}`);
    expect([answer.status, answer.headers.get('location')]).toEqual([401, null]);
    const test = await fixture.tenant.as.admin.post('/api/organization/sso/test');
    expect(test.body).toMatchObject({ ok: false, message: expect.stringMatching(/^The provider cannot be used: /) });
    provider.metadata = {};
  });
});
