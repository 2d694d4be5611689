import type { Transaction } from '@muster/database';
import { audit } from '../audit/audit';
import type { UserPrincipal } from '../principal';
import { announceAccessChange } from './access-changes';

/** Ends the caller's session, here and in every other process. */
export async function logOut(tx: Transaction, caller: UserPrincipal): Promise<void> {
  await tx.execute('DELETE FROM user_session WHERE id = $1', [caller.sessionId]);
  await announceAccessChange(tx);
  audit(tx, caller, {
    action: 'session.delete',
    target: { type: 'session', id: caller.sessionId },
    organizationId: caller.homeOrganizationId,
  });
}
