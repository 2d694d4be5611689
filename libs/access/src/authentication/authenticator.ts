import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Database, PostgresListener } from '@muster/database';
import { AppError } from '@muster/contracts';
import { Clock, isWithinRanges } from '@muster/platform';
import type { Principal } from '../principal';
import type { Credential } from '../requests/read-credential';
import { accessChanged, accessChannel } from './access-changes';
import { parseApiKeyId, equalsInConstantTime, parseSessionId, sha256Hex } from './credentials';
import { loadPrincipalOfApiKey, type Loaded, loadPrincipalOfSession, recordCredentialUse } from './load-principal';

const cacheMs = 30_000;
/**
 * Minimum time between two records of use. A session ends when it is idle, so its last use is recorded more exactly.
 */
const recordUseEveryMs = { user: 10_000, api_key: 60_000 };

/** The result is a promise only if the credential is not cached, so that most requests need not wait. */
type Answer<P> = P | null | Promise<P | null>;

type Use = (loaded: Loaded<Principal>, now: Date) => void;

interface CacheEntry {
  loaded: Loaded<Principal> | null;
  until: number;
}

/**
 * Returns the principal of a credential. Principals are cached for a short time, so that most requests cost no query.
 * The cache is cleared when any process changes access, and is not used while such notifications could be missed.
 */
@Injectable()
export class Authenticator implements OnApplicationShutdown {
  private readonly logger = new Logger(Authenticator.name);
  private readonly cache = new Map<string, CacheEntry>();
  private generation = 0;
  private readonly changeListeners = new Set<() => void>();
  private readonly clearCache = () => {
    this.generation += 1;
    this.cache.clear();
    for (const listener of this.changeListeners) listener();
  };

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PostgresListener) private readonly listener: PostgresListener,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    listener.listen(accessChannel, { onNotification: this.clearCache, onLost: this.clearCache });
    accessChanged.on('changed', this.clearCache);
  }

  onApplicationShutdown(): void {
    accessChanged.off('changed', this.clearCache);
  }

  /**
   * Returns the principal of a credential. Throws if an API key is valid but may not be used from this address, so that
   * the owner of the key learns the reason.
   */
  authenticateCredential(credential: Credential | null, address: string | null): Answer<Principal> {
    return this.resolveCredential(credential, (loaded, now) => {
      if (loaded.ipAllow?.length && !(address && isWithinRanges(address, loaded.ipAllow))) {
        throw new AppError('permission_denied', {
          detail:
            'This API key cannot be used from your IP address. Use it from an allowed address, or ask an admin for a ' +
            'key that allows yours.',
        });
      }
      this.recordUseOfCredential(loaded, now, address);
    });
  }

  /**
   * Returns the principal if the credential is still valid. The check is not recorded as use, so an open stream does
   * not keep its session alive.
   */
  recheckCredential(credential: Credential | null): Answer<Principal> {
    return this.resolveCredential(credential, () => undefined);
  }

  /**
   * Calls the listener when the access of any caller may have changed: at a change by any process, and when changes may
   * have been missed. Returns a function that removes the listener.
   */
  onAccessChange(listener: () => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  private resolveCredential(credential: Credential | null, use: Use): Answer<Principal> {
    if (!credential) return null;
    const secret = 'key' in credential ? credential.key : credential.session;
    const id = 'key' in credential ? parseApiKeyId(secret) : parseSessionId(secret);
    if (!id) return null;
    const name = `${'key' in credential ? 'key' : 'session'}:${id}`;
    const cached = this.findCachedPrincipal(name);
    if (cached) return this.checkLoadedPrincipal(cached.loaded, secret, use);
    const load = 'key' in credential ? loadPrincipalOfApiKey : loadPrincipalOfSession;
    return this.loadAndCachePrincipal(name, () => load(this.database, id)).then((loaded) =>
      this.checkLoadedPrincipal(loaded, secret, use),
    );
  }

  private checkLoadedPrincipal(loaded: Loaded<Principal> | null, secret: string, use: Use): Principal | null {
    const now = this.clock.now();
    if (!loaded || !isRightSecret(loaded, secret, now)) return null;
    if (loaded.expiresAt && loaded.expiresAt <= now) return null;
    if (loaded.idleMs && loaded.usedAt && now.getTime() - loaded.usedAt.getTime() > loaded.idleMs) return null;
    use(loaded, now);
    return loaded.principal;
  }

  private findCachedPrincipal(name: string): CacheEntry | undefined {
    const cached = this.cache.get(name);
    return cached && cached.until > performance.now() && this.listener.isConnected ? cached : undefined;
  }

  private async loadAndCachePrincipal(
    name: string,
    load: () => Promise<Loaded<Principal> | null>,
  ): Promise<Loaded<Principal> | null> {
    const now = performance.now();
    const generation = this.generation;
    const loaded = await load();
    // A principal that was read before an access change must not be cached after it.
    if (generation === this.generation && this.listener.isConnected) {
      if (this.cache.size >= 10_000) this.cache.clear();
      this.cache.set(name, { loaded, until: now + cacheMs });
    }
    return loaded;
  }

  private recordUseOfCredential(loaded: Loaded<Principal>, now: Date, address: string | null): void {
    const { kind } = loaded.principal;
    // A use from a new address is recorded sooner, but not every time, because requests may alternate between two
    // addresses.
    const everyMs = loaded.usedFrom === address ? recordUseEveryMs[kind] : recordUseEveryMs.user;
    if (loaded.usedAt && now.getTime() - loaded.usedAt.getTime() < everyMs) return;
    loaded.usedAt = now;
    loaded.usedFrom = address;
    recordCredentialUse(this.database, loaded.principal, { now, address }).catch((error: Error) => {
      this.logger.debug?.(`could not record the use of a credential: ${error.message}`);
    });
  }
}

function isRightSecret({ secretHash, previous }: Loaded<Principal>, secret: string, now: Date): boolean {
  const hash = sha256Hex(secret);
  if (equalsInConstantTime(secretHash, hash)) return true;
  return previous !== undefined && now < previous.until && equalsInConstantTime(previous.hash, hash);
}
