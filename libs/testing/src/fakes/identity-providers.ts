import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Configuration, Provider as OidcProvider } from 'oidc-provider';

/** The client that the providers know. */
export const ssoClient = { id: 'muster', secret: 'secret-of-the-client-0123456789' };

/** The claims of the accounts by their subject. */
type Accounts = Record<string, Record<string, unknown>>;

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A server on a free port of loopback, whose handler can be replaced. */
class ReplaceableServer {
  handle: Handle = () => undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async listen(): Promise<ReplaceableServer> {
    const server = createServer((request, response) => void own.handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const own = new ReplaceableServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return own;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function createSigningKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const use = { kid, use: 'sig', alg: 'RS256' };
  return {
    kid,
    privateKey,
    jwk: { ...privateKey.export({ format: 'jwk' }), ...use },
    publicJwk: { ...publicKey.export({ format: 'jwk' }), ...use },
  };
}

/** A certified implementation of an OpenID provider, where the user of the test is signed in already. */
export class RealProvider {
  readonly accounts: Accounts = {};
  /** The subject of the account that signs in. */
  subject = 'dana';
  keyReads = 0;

  private constructor(
    private readonly server: ReplaceableServer,
    private readonly redirectUri: string,
  ) {}

  static async start(redirectUri: string): Promise<RealProvider> {
    const own = new RealProvider(await ReplaceableServer.listen(), redirectUri);
    await own.rotateKeys();
    return own;
  }

  get issuer(): string {
    return this.server.url;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  /** Continues with another key and forgets the old one, like a provider after a leak. */
  async rotateKeys(): Promise<void> {
    // The provider warns about its memory adapter and about versions of Node.js that it still runs on.
    /* eslint-disable no-console */
    const { warn } = console;
    console.warn = () => undefined;
    const { Provider } = await import('oidc-provider');
    const provider = new Provider(this.issuer, this.buildProviderConfiguration());
    console.warn = warn;
    /* eslint-enable no-console */
    const handle = provider.callback();
    this.server.handle = (request, response) => {
      if (request.url === '/jwks') this.keyReads += 1;
      if (request.url?.startsWith('/interaction/')) return this.signIn(provider, request, response);
      return handle(request, response);
    };
  }

  private buildProviderConfiguration(): Configuration {
    return {
      clients: [{ client_id: ssoClient.id, client_secret: ssoClient.secret, redirect_uris: [this.redirectUri] }],
      jwks: { keys: [createSigningKey(randomUUID()).jwk] },
      cookies: { keys: ['key of the cookies'] },
      scopes: ['openid', 'email', 'profile', 'groups'],
      claims: { email: ['email', 'email_verified'], groups: ['groups'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      ttl: { IdToken: 120, AccessToken: 120, AuthorizationCode: 60, Interaction: 60, Session: 60, Grant: 60 },
      findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...this.accounts[sub] }) }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
        grant.addOIDCScope('openid email profile groups');
        await grant.save();
        return grant;
      },
    };
  }

  private signIn(provider: OidcProvider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    return provider.interactionFinished(request, response, { login: { accountId: this.subject } });
  }
}

interface TokenRequest {
  authorization: string | undefined;
  form: URLSearchParams;
}

type TokenParts = { header: Record<string, unknown>; claims: Record<string, unknown>; key: KeyObject };

/** A provider that speaks the protocol, but makes whatever token the test wants. */
export class HostileProvider {
  readonly key = createSigningKey('honest');
  keys: object[] = [this.key.publicJwk];
  keyReads = 0;
  tokenRequests: TokenRequest[] = [];
  /** Fields that are added to the provider's metadata, or replace some of them. */
  metadata: Record<string, unknown> = {};
  userinfo: Record<string, unknown> | null = null;
  /** Changes the parts of the next tokens. The claims belong to a verified address. */
  change: (parts: TokenParts) => Partial<TokenParts> = () => ({});
  /** The nonce that the client has sent to the authorization endpoint. */
  nonce: string | null = null;

  private constructor(private readonly server: ReplaceableServer) {}

  static async start(): Promise<HostileProvider> {
    const own = new HostileProvider(await ReplaceableServer.listen());
    own.server.handle = (request, response) => own.answerRequest(request, response);
    return own;
  }

  get issuer(): string {
    return this.server.url;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await this.createResponseBody(request);
    response.statusCode = body ? 200 : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body ?? {}));
  }

  private async createResponseBody(request: IncomingMessage): Promise<object | null> {
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return {
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/keys`,
          userinfo_endpoint: `${this.issuer}/userinfo`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          ...this.metadata,
        };
      case '/keys':
        this.keyReads += 1;
        return { keys: this.keys };
      case '/userinfo':
        return this.userinfo;
      case '/token':
        return this.issueTokens(request);
      default:
        return null;
    }
  }

  private async issueTokens(request: IncomingMessage): Promise<object> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    this.tokenRequests.push({ authorization: request.headers.authorization, form });
    const now = Math.floor(Date.now() / 1000);
    const parts: TokenParts = {
      header: { alg: 'RS256', kid: this.key.kid },
      claims: {
        ...{ iss: this.issuer, aud: ssoClient.id, sub: 'dana', iat: now, exp: now + 120, nonce: this.nonce },
        ...{ email: 'dana@acme.test', email_verified: true },
      },
      key: this.key.privateKey,
    };
    const token = signToken({ ...parts, ...this.change(parts) });
    return { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: token };
  }
}

function signToken({ header, claims, key }: TokenParts): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = header['alg'] === 'none' ? '' : createSign('sha256').update(text).sign(key, 'base64url');
  return `${text}.${signature}`;
}
