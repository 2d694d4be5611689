import { Inject, Injectable } from '@nestjs/common';
import { hasPermissionsOf } from '@muster/contracts';
import { getAddressForRequest, BaseConfig, getExactAddress, Semaphore } from '@muster/platform';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from '../authentication/authenticator';
import { requirePrincipal } from './access-guard';
import { type AccessRule, requireAccess } from './access-rule';
import { readCredential } from './read-credential';

/** The access of a caller whose response stays open after the access was checked. */
export interface LastingAccess {
  /** Whether the caller would still be admitted. Throws if this cannot be checked at the moment. */
  holds: () => Promise<boolean>;
  /** Calls the listener when the result of `holds` may have changed. Returns a function that removes the listener. */
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

  /** Whether the request has a valid credential. For a route that is open to anyone in some deployments only. */
  async hasValidCredential(request: FastifyRequest): Promise<boolean> {
    const credential = readCredential(request, getAddressForRequest(request, this.config));
    return (await this.authenticator.authenticateCredential(credential, getExactAddress(request))) !== null;
  }

  createAccessRecheck(request: FastifyRequest, rule: AccessRule): LastingAccess {
    const opener = requirePrincipal(request);
    const { organizationId, organizationSuspended } = opener;
    const credential = readCredential(request, getAddressForRequest(request, this.config));
    const isStillAllowed = async () => {
      const principal = await this.checks.runInTurn(async () => this.authenticator.recheckCredential(credential));
      // A super admin may have switched to another organization; the stream is about the previous one.
      if (principal?.organizationId !== organizationId) return false;
      // A stream ends when its organization is suspended. The client can open it again with the rights that remain.
      if (principal.organizationSuspended && !organizationSuspended) return false;
      // The same applies to a caller that has lost a permission: the stream may have been opened with that permission.
      if (!hasPermissionsOf(principal, opener)) return false;
      try {
        requireAccess(rule, principal);
        return true;
      } catch {
        return false;
      }
    };
    return { holds: isStillAllowed, onChange: (listener) => this.authenticator.onAccessChange(listener) };
  }
}
