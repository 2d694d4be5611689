import { Inject, Injectable } from '@nestjs/common';
import { Clock, isLoopback, Outbound } from '@muster/platform';
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import { ProviderKeys } from './provider-keys';
import { SsoRefused, toSsoRefusal } from './sso-refused';
import type { SsoProvider } from './sso-settings';

/** Time after which the metadata of a provider is read again. */
const metadataLifetimeMs = 10 * 60_000;

/** Maximum number of issuers of which a process caches the metadata and the keys. */
const maxIssuers = 1000;

/** Difference of two clocks that is allowed when times in tokens are checked. */
const clockToleranceSeconds = 30;

/** The values that bind a response of the provider to the browser and to the sign-in that it started. */
export interface SignInBinding {
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
}

export type Claims = Record<string, unknown>;

interface KnownIssuer {
  metadata: ServerMetadata;
  keys: ProviderKeys;
  readAt: number;
}

/** Talks to the OpenID Connect providers of the organizations. The protocol itself is that of openid-client. */
@Injectable()
export class IdentityProviders {
  private readonly known = new Map<string, KnownIssuer>();

  constructor(
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Returns the address of the provider to which the browser is sent. */
  async buildAuthorizationUrl(provider: SsoProvider, binding: SignInBinding, email: string): Promise<string> {
    const openid = await import('openid-client');
    try {
      const { configuration, metadata } = await this.createExchangeConfiguration(provider);
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: binding.redirectUri,
        scope: listRequestedScopes(metadata, provider),
        state: binding.state,
        nonce: binding.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(binding.codeVerifier),
        code_challenge_method: 'S256',
        login_hint: email,
        ...(provider.requiredAcr.length > 0 ? { acr_values: provider.requiredAcr.join(' ') } : {}),
        ...(provider.maxAgeSeconds === null ? {} : { max_age: String(provider.maxAgeSeconds) }),
      });
      return url.href;
    } catch (error) {
      throw toSsoRefusal(error);
    }
  }

  /**
   * Exchanges the code of a response for the claims about the user. Throws SsoRefused unless the response and the ID
   * token are valid for this sign-in: signature, issuer, audience, nonce and times.
   */
  async exchangeCode(provider: SsoProvider, binding: SignInBinding, query: string): Promise<Claims> {
    const openid = await import('openid-client');
    try {
      const { configuration, metadata } = await this.createExchangeConfiguration(provider);
      openid.enableNonRepudiationChecks(configuration);
      const tokens = await openid.authorizationCodeGrant(configuration, new URL(`${binding.redirectUri}?${query}`), {
        expectedState: binding.state,
        expectedNonce: binding.nonce,
        pkceCodeVerifier: binding.codeVerifier,
        idTokenExpected: true,
        ...(provider.maxAgeSeconds === null ? {} : { maxAge: provider.maxAgeSeconds }),
      });
      const claims = tokens.claims()!;
      this.requireIssuedInPast(claims.iat);
      requireStrength(claims, provider);
      const needed = ['email', 'email_verified', ...(provider.roleClaim ? [provider.roleClaim] : [])];
      if (needed.every((name) => name in claims) || !metadata.userinfo_endpoint) return claims;
      // Many providers return the email address and the groups only here.
      return mergeUserinfoClaims(claims, await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub));
    } catch (error) {
      throw toSsoRefusal(error);
    }
  }

  /** Checks the provider without a user. Returns null if a sign-in can work, and otherwise the reason. */
  async findProviderFault(provider: SsoProvider, redirectUri: string): Promise<string | null> {
    const openid = await import('openid-client');
    this.known.delete(provider.issuer);
    try {
      const { configuration, metadata, keys } = await this.createExchangeConfiguration(provider);
      if (metadata.response_types_supported && !metadata.response_types_supported.includes('code')) {
        return 'it does not support the authorization code flow';
      }
      await keys.readProviderKeys();
      const url = new URL(redirectUri);
      url.search = new URLSearchParams({ code: 'test', iss: metadata.issuer }).toString();
      await openid.authorizationCodeGrant(configuration, url, { pkceCodeVerifier: openid.randomPKCECodeVerifier() });
      return null;
    } catch (error) {
      // The provider has accepted the client and rejects only the code, which no provider has issued.
      if ((error as { error?: unknown }).error === 'invalid_grant') return null;
      return toSsoRefusal(error).message;
    }
  }

  /** Creates the configuration of one exchange, from the cached metadata and keys of the provider. */
  private async createExchangeConfiguration(
    provider: SsoProvider,
  ): Promise<{ configuration: Configuration; metadata: ServerMetadata; keys: ProviderKeys }> {
    const openid = await import('openid-client');
    const { metadata, keys } = await this.loadIssuerMetadata(provider);
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication = methods.includes('client_secret_basic')
      ? openid.ClientSecretBasic(provider.clientSecret)
      : openid.ClientSecretPost(provider.clientSecret);
    const skew = Math.round((this.clock.now().getTime() - performance.timeOrigin - performance.now()) / 1000);
    const configuration = new openid.Configuration(
      metadata,
      provider.clientId,
      {
        [openid.clockTolerance]: clockToleranceSeconds,
        // Tokens are checked with the service's clock instead of the clock of this machine.
        [openid.clockSkew]: skew,
      },
      authentication,
    );
    if (usesPlainHttp(provider.issuer)) openid.allowInsecureRequests(configuration);
    const tokenEndpoint = new URL(metadata.token_endpoint!).href;
    const useKeys = () => openid.setJwksCache(configuration, keys.toLibraryCache());
    configuration[openid.customFetch] = async (url, options) => {
      const response = await this.sendGuardedRequest(url, options);
      // The keys must be there before the token is checked, because the code cannot be exchanged twice.
      if (url === tokenEndpoint) {
        await keys.loadKeyOfToken(await response.clone().text());
        useKeys();
      }
      return response;
    };
    return { configuration, metadata, keys };
  }

  private async loadIssuerMetadata({ issuer, clientId }: SsoProvider): Promise<KnownIssuer> {
    const now = this.clock.now().getTime();
    const cached = this.known.get(issuer);
    if (cached && now - cached.readAt < metadataLifetimeMs) return cached;
    const openid = await import('openid-client');
    const options = {
      [openid.customFetch]: (...call: Parameters<CustomFetch>) => this.sendGuardedRequest(...call),
      execute: usesPlainHttp(issuer) ? [openid.allowInsecureRequests] : [],
    };
    const discovered = await openid
      .discovery(new URL(issuer), clientId, undefined, undefined, options)
      .catch((error: unknown) => {
        throw toSsoRefusal(error, 'discovery');
      });
    const metadata = discovered.serverMetadata();
    requireSafeEndpoints(metadata, issuer);
    const keys = cached?.keys.belongsToUri(metadata.jwks_uri!)
      ? cached.keys
      : new ProviderKeys(metadata.jwks_uri!, this.outbound, this.clock);
    if (this.known.size >= maxIssuers) this.known.clear();
    const found = { metadata, keys, readAt: now };
    this.known.set(issuer, found);
    return found;
  }

  /** Sends a request of openid-client through the guard for addresses that users entered. */
  private async sendGuardedRequest(...[url, { method, headers, body }]: Parameters<CustomFetch>): Promise<Response> {
    const answer = await this.outbound.fetchBounded({
      url,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body === undefined || body === null ? {} : { body: String(body as string | URLSearchParams) }),
    });
    const type = answer.headers?.['content-type'];
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    });
  }

  /** The library checks when a token ends, but not when it was issued. */
  private requireIssuedInPast(issuedAt: number): void {
    if (issuedAt * 1000 <= this.clock.now().getTime() + clockToleranceSeconds * 1000) return;
    throw new SsoRefused('the ID token was issued in the future');
  }
}

/** Throws unless the user was authenticated as the organization requires. Only the signed token proves it. */
function requireStrength(claims: Claims, { requiredAcr, requiredAmr }: SsoProvider): void {
  const { acr, amr } = claims;
  if (requiredAcr.length > 0 && !(typeof acr === 'string' && requiredAcr.includes(acr))) {
    throw new SsoRefused('the ID token names no required authentication context in its acr');
  }
  const methods = Array.isArray(amr) ? (amr as unknown[]) : [];
  const missing = requiredAmr.filter((method) => !methods.includes(method));
  if (missing.length > 0) {
    throw new SsoRefused(`the amr of the ID token lacks required authentication methods: ${missing.join(', ')}`);
  }
}

/**
 * A claim of the signed token has priority. `email_verified` must come from the same source as the address: from the
 * token, or from the userinfo response.
 */
function mergeUserinfoClaims(claims: Claims, userinfo: Claims): Claims {
  const merged: Claims = { ...userinfo, ...claims };
  if (!('email' in claims) && claims['email_verified'] !== false) merged['email_verified'] = userinfo['email_verified'];
  else if (claims['email'] !== userinfo['email']) merged['email_verified'] = claims['email_verified'];
  return merged;
}

/** Asks for the groups only if the provider knows this scope, because others reject an unknown scope. */
function listRequestedScopes({ scopes_supported: supported }: ServerMetadata, { roleClaim }: SsoProvider): string {
  const scopes = ['openid', 'email', 'profile'].filter(
    (scope) => scope === 'openid' || !supported || supported.includes(scope),
  );
  if (roleClaim && supported?.includes(roleClaim) && !scopes.includes(roleClaim)) scopes.push(roleClaim);
  return scopes.join(' ');
}

/** Throws if the provider names an address to which no secret and no browser may be sent. */
function requireSafeEndpoints(metadata: ServerMetadata, issuer: string): void {
  const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const;
  for (const name of endpoints) {
    const text = metadata[name];
    if (text === undefined && name === 'userinfo_endpoint') continue;
    if (typeof text !== 'string' || !URL.canParse(text)) throw new SsoRefused(`the provider has no valid ${name}`);
    const { protocol, hostname } = new URL(text);
    const isPlainHere = protocol === 'http:' && usesPlainHttp(issuer) && isLoopback(hostname);
    if (protocol !== 'https:' && !isPlainHere) throw new SsoRefused(`the ${name} of the provider does not use https`);
  }
}

function usesPlainHttp(issuer: string): boolean {
  return issuer.startsWith('http:');
}
