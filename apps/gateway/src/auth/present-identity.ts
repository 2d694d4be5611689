import type { Principal } from '@muster/access';
import { type Identity, type IdentityOrganization, listPermissions } from '@muster/contracts';

export function presentIdentity(principal: Principal, organization = presentIdentityOrganization(principal)): Identity {
  const isUser = principal.kind === 'user';
  const isElsewhere = isUser && organization.id !== principal.homeOrganizationId;
  return {
    user: {
      id: principal.id,
      email: isUser ? principal.email : null,
      role: principal.role,
      permissions: [...listPermissions(principal)],
    },
    organization,
    ...(isElsewhere ? { ownOrganizationId: principal.homeOrganizationId } : {}),
  };
}

function presentIdentityOrganization({ organizationId: id, organizationName: name }: Principal): IdentityOrganization {
  return { id, name };
}
