import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Database, PostgresListener } from '@muster/database';
import { Clock } from '@muster/platform';
import type { KeyPrincipal, Principal, UserPrincipal } from '../principal';
import type { Credential } from '../requests/credential-of';
import { accessChanged, accessChannel } from './access-changes';
import { apiKeyIdOf, sameText, sessionIdOf, sha256 } from './credentials';
import { type Loaded, loadApiKey, loadSession, recordUse } from './load-principal';

const rememberMs = 30_000;
const noteUseEveryMs = 60_000;
/** A session that nobody used for this long is over. */
export const sessionIdleMs = 24 * 3_600_000;

/** At once where it is remembered: most requests need not even wait for a promise. */
type Answer<P> = P | null | Promise<P | null>;

interface Remembered {
  loaded: Loaded<Principal> | null;
  until: number;
}

/**
 * Turns a credential into a principal. What it read it remembers for a moment, so that most requests cost no query;
 * it forgets all of it when any process changes access, and remembers nothing while it could not hear of that.
 */
@Injectable()
export class Authenticator implements OnApplicationShutdown {
  private readonly logger = new Logger(Authenticator.name);
  private readonly remembered = new Map<string, Remembered>();
  private generation = 0;
  private readonly forget = () => {
    this.generation += 1;
    this.remembered.clear();
  };

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PostgresListener) private readonly listener: PostgresListener,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    listener.listen(accessChannel, { heard: this.forget, lost: this.forget });
    accessChanged.on('changed', this.forget);
  }

  onApplicationShutdown(): void {
    accessChanged.off('changed', this.forget);
  }

  byCredential(credential: Credential | null): Answer<Principal> {
    if (!credential) return null;
    return 'key' in credential ? this.byApiKey(credential.key) : this.bySession(credential.session);
  }

  private byApiKey(key: string): Answer<KeyPrincipal> {
    const id = apiKeyIdOf(key);
    return id ? this.resolve(`key:${id}`, key, () => loadApiKey(this.database, id)) : null;
  }

  private bySession(token: string): Answer<UserPrincipal> {
    const id = sessionIdOf(token);
    return id ? this.resolve(`session:${id}`, token, () => loadSession(this.database, id)) : null;
  }

  private resolve<P extends Principal>(name: string, secret: string, load: () => Promise<Loaded<P> | null>): Answer<P> {
    const known = this.recall(name);
    if (known) return this.admit(known.loaded as Loaded<P> | null, secret);
    return this.learn(name, load).then((loaded) => this.admit(loaded, secret));
  }

  private admit<P extends Principal>(loaded: Loaded<P> | null, secret: string): P | null {
    if (!loaded || !sameText(loaded.secretHash, sha256(secret))) return null;
    const now = this.clock.now();
    if (loaded.expiresAt && loaded.expiresAt <= now) return null;
    if (loaded.principal.kind === 'user' && loaded.usedAt && now.getTime() - loaded.usedAt.getTime() > sessionIdleMs) {
      return null;
    }
    this.recordUse(loaded, now);
    return loaded.principal;
  }

  private recall(name: string): Remembered | undefined {
    const known = this.remembered.get(name);
    return known && known.until > Date.now() && this.listener.connected ? known : undefined;
  }

  private async learn<P extends Principal>(
    name: string,
    load: () => Promise<Loaded<P> | null>,
  ): Promise<Loaded<P> | null> {
    const now = Date.now();
    const generation = this.generation;
    const loaded = await load();
    // What was read before a change must not be remembered after it.
    if (generation === this.generation && this.listener.connected) {
      if (this.remembered.size >= 10_000) this.remembered.clear();
      this.remembered.set(name, { loaded, until: now + rememberMs });
    }
    return loaded;
  }

  private recordUse(loaded: Loaded<Principal>, now: Date): void {
    if (loaded.usedAt && now.getTime() - loaded.usedAt.getTime() < noteUseEveryMs) return;
    loaded.usedAt = now;
    recordUse(this.database, loaded.principal, now).catch((error: Error) => {
      this.logger.debug?.(`use not noted: ${error.message}`);
    });
  }
}
