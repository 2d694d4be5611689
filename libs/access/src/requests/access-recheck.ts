import { Inject, Injectable } from '@nestjs/common';
import { addressFor, BaseConfig, Semaphore } from '@muster/platform';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from '../authentication/authenticator';
import { principalOf } from './access-guard';
import { type AccessRule, admit } from './access-rule';
import { credentialOf } from './credential-of';

/** The access of a caller whose response stays open after the access was checked. */
export interface LastingAccess {
  /** Whether the caller would still be admitted. Throws if this cannot be checked at the moment. */
  holds: () => Promise<boolean>;
  /** Calls the listener when `holds` may have changed. Returns a function that removes the listener. */
  onChange: (listener: () => void) => () => void;
}

/**
 * Checks the callers of open streams again, because a request is otherwise checked only once, when the stream is
 * opened.
 */
@Injectable()
export class AccessRecheck {
  /**
   * Limits the concurrent checks: an access change makes all open streams check at once, which could use all database
   * connections.
   */
  private readonly checks = new Semaphore(4);

  constructor(
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(BaseConfig) private readonly config: BaseConfig,
  ) {}

  forRequest(request: FastifyRequest, rule: AccessRule): LastingAccess {
    const { organizationId, organizationSuspended } = principalOf(request);
    const credential = credentialOf(request, addressFor(request, this.config));
    const holds = async () => {
      const principal = await this.checks.run(async () => this.authenticator.stillHolds(credential));
      // A super admin may have switched to another organization; the stream is about the previous one.
      if (principal?.organizationId !== organizationId) return false;
      // A stream ends when its organization is suspended. The client can open it again with the rights that remain.
      if (principal.organizationSuspended && !organizationSuspended) return false;
      try {
        admit(rule, principal);
        return true;
      } catch {
        return false;
      }
    };
    return { holds, onChange: (listener) => this.authenticator.onChange(listener) };
  }
}
