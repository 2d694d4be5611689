import { notFoundError } from '@muster/contracts';
import type { Database, OrganizationSettingsEntity, SessionEntity, Transaction } from '@muster/database';
import type { Page } from '@muster/platform';
import { audit } from '../audit/audit';
import type { UserPrincipal } from '../principal';
import { dropCachedPrincipals } from './access-changes';

export type SessionRow = Pick<SessionEntity, 'id' | 'createdAt' | 'lastSeenAt' | 'expiresAt' | 'address' | 'browser'> &
  Pick<OrganizationSettingsEntity, 'sessionIdleMinutes'>;

/** Lists the caller's sessions that have not ended, newest first: ids are ordered by time. */
export function listSessions(
  database: Database,
  caller: UserPrincipal,
  { page, now }: { page: Page; now: Date },
): Promise<SessionRow[]> {
  return database.query<SessionRow>(
    { organizationId: caller.homeOrganizationId },
    `SELECT s.id, s.created_at, s.last_seen_at, s.expires_at, s.address, s.browser, o.session_idle_minutes
     FROM user_session s
     JOIN organization_settings o ON o.organization_id = s.organization_id
     WHERE s.user_id = $1 AND s.expires_at > $2
       AND s.last_seen_at >= $2::timestamptz - o.session_idle_minutes * interval '1 minute'
       AND ($3::uuid IS NULL OR s.id < $3)
     ORDER BY s.id DESC LIMIT $4`,
    [caller.id, now, page.after?.[0] ?? null, page.limit + 1],
    'list_sessions',
  );
}

/** Ends one of the caller's sessions, in all processes. Signing out ends the session of the request. */
export async function endSession(tx: Transaction, caller: UserPrincipal, id: string): Promise<void> {
  const ended = await tx.execute('DELETE FROM user_session WHERE id = $1 AND user_id = $2', [id, caller.id]);
  if (ended === 0) throw notFoundError('session');
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: 'session.delete',
    target: { type: 'session', id },
    organizationId: caller.homeOrganizationId,
  });
}

/** Ends all sessions of the caller except the one of the request; returns their number. */
export async function endOtherSessions(tx: Transaction, caller: UserPrincipal): Promise<number> {
  const ended = await tx.execute('DELETE FROM user_session WHERE user_id = $1 AND id <> $2', [
    caller.id,
    caller.sessionId,
  ]);
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: 'session.delete_others',
    target: { type: 'user', id: caller.id },
    changes: { ended },
    organizationId: caller.homeOrganizationId,
  });
  return ended;
}
