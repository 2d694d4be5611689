import type { Principal } from '@muster/access';
import type { Identity } from '@muster/contracts';

export function presentIdentity(principal: Principal): Identity {
  const email = principal.kind === 'user' ? principal.email : null;
  return {
    user: { id: principal.id, email, role: principal.role },
    organization: { id: principal.organizationId, name: principal.organizationName },
  };
}
