import { Inject, Injectable } from '@nestjs/common';
import { addressFor, BaseConfig } from '@muster/platform';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from '../authentication/authenticator';
import { principalOf } from './access-guard';
import { type AccessRule, admit } from './access-rule';
import { credentialOf } from './credential-of';

/** For answers that go on long after their admission: whether the caller would still be let in. */
@Injectable()
export class StandingAccess {
  constructor(
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(BaseConfig) private readonly config: BaseConfig,
  ) {}

  /** A question to ask again and again. It throws where nobody can tell at the moment. */
  of(request: FastifyRequest, rule: AccessRule): () => Promise<boolean> {
    const { organizationId, organizationSuspended } = principalOf(request);
    const credential = credentialOf(request, addressFor(request, this.config));
    return async () => {
      const principal = await this.authenticator.stillHolds(credential);
      // A super_admin may look at another organization by now: what goes on is about the one before.
      if (principal?.organizationId !== organizationId) return false;
      // What is open ends with the suspension; what it then reads, it asks for again.
      if (principal.organizationSuspended && !organizationSuspended) return false;
      try {
        admit(rule, principal);
        return true;
      } catch {
        return false;
      }
    };
  }
}
