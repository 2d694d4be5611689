import type { Actor } from '../audit/audit';

/** The identity provider of an organization, as the audit trail names it. */
export function buildScimActor(organizationId: string): Actor {
  return { kind: 'system', id: 'scim', organizationId };
}
