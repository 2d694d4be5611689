import { notFoundError } from '@muster/contracts';
import type { OrganizationEntity, Transaction } from '@muster/database';
import { audit } from '../audit/audit';
import type { UserPrincipal } from '../principal';
import { dropCachedPrincipals } from './access-changes';

/** Switches a super_admin's session to another organization; null switches back to the own one. */
export async function overrideOrganization(
  tx: Transaction,
  caller: UserPrincipal,
  organizationId: string | null,
): Promise<{ id: string; name: string }> {
  const wanted = organizationId ?? caller.homeOrganizationId;
  const [organization] = await tx.query<Pick<OrganizationEntity, 'id' | 'name'>>(
    'SELECT id, name FROM organization WHERE id = $1',
    [wanted],
  );
  if (!organization) throw notFoundError('organization');
  await tx.execute('UPDATE user_session SET override_organization_id = $2 WHERE id = $1', [
    caller.sessionId,
    wanted === caller.homeOrganizationId ? null : wanted,
  ]);
  await dropCachedPrincipals(tx);
  // The audit trail of the viewed organization shows both the start and the end of the override.
  const left = caller.organizationId === caller.homeOrganizationId ? wanted : caller.organizationId;
  for (const organizationId of new Set([wanted, left])) {
    audit(tx, caller, {
      action: 'session.override_organization',
      target: { type: 'organization', id: wanted },
      organizationId,
      changes: { organizationId: [caller.organizationId, wanted] },
    });
  }
  return organization;
}
