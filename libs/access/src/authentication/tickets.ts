import { AppError, type SignInNeed, type SignInNeeds } from '@muster/contracts';
import type { Database, SignInTicketEntity, Transaction, UserEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { generateTicketToken, equalsInConstantTime, sha256Hex, parseTicketId } from './credentials';
import { knownAddressDays } from './sign-in-addresses';

const lifetimeMs = 10 * 60_000;

/** Number of wrong codes that end a ticket. */
const ticketFailures = 5;

type Owner = Pick<UserEntity, 'id' | 'organizationId' | 'email'>;

/** Issues a ticket, which proves that the password was right. Only the routes of the next sign-in step accept it. */
export async function issueTicket(
  database: Database,
  { user, needs, now }: { user: Owner; needs: SignInNeed; now: Date },
): Promise<SignInNeeds> {
  const id = newId();
  const ticket = generateTicketToken(id);
  await database.query(
    { organizationId: user.organizationId },
    `INSERT INTO sign_in_ticket (id, user_id, organization_id, secret_hash, needs, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      id,
      user.id,
      user.organizationId,
      sha256Hex(ticket),
      needs === 'enrolment' ? needs : 'totp',
      new Date(now.getTime() + lifetimeMs),
    ],
    'issue_ticket',
  );
  return { needs, ticket };
}

export interface TicketHolder {
  ticketId: string;
  user: Owner;
  knowsAddress: boolean;
}

/** Returns the user of a ticket. Throws if the ticket is invalid, has ended, or is for another step. */
export async function findTicketHolder(
  database: Database,
  { ticket, needs, address, now }: { ticket: string; needs: SignInTicketEntity['needs']; address: string; now: Date },
): Promise<TicketHolder> {
  const ticketId = parseTicketId(ticket);
  const [row] = ticketId
    ? await database.query<Owner & Pick<SignInTicketEntity, 'secretHash'> & { knowsAddress: boolean }>(
        'system',
        `SELECT u.id, u.organization_id, u.email, t.secret_hash, a.last_at IS NOT NULL AS knows_address
         FROM sign_in_ticket t
         JOIN app_user u ON u.id = t.user_id AND NOT u.disabled
         LEFT JOIN sign_in_address a ON a.user_id = u.id AND a.address = $4
           AND a.last_at > $3::timestamptz - $5 * interval '1 day'
         WHERE t.id = $1 AND t.needs = $2 AND t.expires_at > $3`,
        [ticketId, needs, now, address, knownAddressDays],
        'holder_of_ticket',
      )
    : [];
  if (!row || !equalsInConstantTime(row.secretHash, sha256Hex(ticket))) throw invalidTicketError();
  const { id, organizationId, email, knowsAddress } = row;
  return { ticketId: ticketId!, user: { id, organizationId, email }, knowsAddress };
}

/** Deletes the ticket; throws if it does not exist, so that only one of two requests can use it. */
export async function deleteTicket(tx: Transaction, ticketId: string): Promise<void> {
  const taken = await tx.execute('DELETE FROM sign_in_ticket WHERE id = $1', [ticketId], 'take_ticket');
  if (taken === 0) throw invalidTicketError();
}

/** Counts a wrong code; returns whether the ticket can still be used. */
export async function countFailedCode(tx: Transaction, ticketId: string): Promise<boolean> {
  const [row] = await tx.query<Pick<SignInTicketEntity, 'failures'>>(
    'UPDATE sign_in_ticket SET failures = failures + 1 WHERE id = $1 RETURNING failures',
    [ticketId],
    'count_failure',
  );
  if (row && row.failures < ticketFailures) return true;
  await tx.execute('DELETE FROM sign_in_ticket WHERE id = $1', [ticketId]);
  return false;
}

export function invalidTicketError(): AppError {
  return new AppError('unauthenticated', {
    detail: 'This sign-in has expired or had too many wrong codes; start again with your password.',
    errors: [{ field: 'ticket', message: 'ticket is not valid any more' }],
  });
}
