import type { Clock, Outbound } from '@muster/platform';
import type { ExportedJWKSCache } from 'openid-client';

/** Time for which the keys are not read again, whatever keys the tokens name. */
const rereadAfterMs = 60_000;

/** Time after which the keys are read again even if no token names an unknown key, so that a removed key ends. */
const lifetimeMs = 60 * 60_000;

type Jwks = ExportedJWKSCache['jwks'];

/**
 * The public keys of a provider. They are read again for a token with an unknown key, at most once a minute, so that
 * invalid tokens cause no flood of requests to the provider.
 */
export class ProviderKeys {
  private jwks: Jwks = { keys: [] };
  private readAt: number | null = null;
  private rereadAt: number | null = null;

  constructor(
    private readonly uri: string,
    private readonly outbound: Outbound,
    private readonly clock: Clock,
  ) {}

  belongsToUri(uri: string): boolean {
    return this.uri === uri;
  }

  /** Makes sure that the keys contain that of the ID token in this response, if the provider has it. */
  async loadKeyOfToken(tokenResponse: string): Promise<void> {
    const now = this.clock.now().getTime();
    if (this.readAt === null || now - this.readAt >= lifetimeMs) return this.readProviderKeys();
    const kid = readKeyId(tokenResponse);
    const isKnown = this.jwks.keys.some((key) => kid === null || key.kid === kid);
    if (isKnown || (this.rereadAt !== null && now - this.rereadAt < rereadAfterMs)) return;
    this.rereadAt = now;
    await this.readProviderKeys();
  }

  /** Reads the keys from the provider. */
  async readProviderKeys(): Promise<void> {
    const { status, body } = await this.outbound.fetchBounded({
      url: this.uri,
      headers: { accept: 'application/json' },
    });
    const jwks = status === 200 ? parseKeySet(body.toString()) : null;
    if (!jwks) throw new Error(`the keys of the provider at ${this.uri} cannot be read (status ${status})`);
    this.jwks = jwks;
    this.readAt = this.clock.now().getTime();
  }

  /**
   * Returns the keys in the form of openid-client. Their time is set so that the library never reads the keys itself.
   */
  toLibraryCache(): ExportedJWKSCache {
    return { jwks: this.jwks, uat: Number.MAX_SAFE_INTEGER };
  }
}

function parseKeySet(text: string): Jwks | null {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    if (!Array.isArray(keys)) return null;
    return { keys: keys.filter((key): key is Jwks['keys'][number] => typeof key === 'object' && key !== null) };
  } catch {
    return null;
  }
}

/** Returns the id of the key that signed the ID token; null if the token does not name one. */
function readKeyId(tokenResponse: string): string | null {
  try {
    const { id_token: token } = JSON.parse(tokenResponse) as { id_token: string };
    const header = Buffer.from(token.split('.')[0]!, 'base64url').toString();
    const { kid } = JSON.parse(header) as { kid?: unknown };
    return typeof kid === 'string' ? kid : null;
  } catch {
    return null;
  }
}
