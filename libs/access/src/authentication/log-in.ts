import { AppError, type LoginBody, type SignInNeeds } from '@muster/contracts';
import type { Database, OrganizationSettingsEntity, UserEntity } from '@muster/database';
import type { Attempts, Clock, RatePolicy } from '@muster/platform';
import { sha256Hex } from './credentials';
import { insertSession, type OpenedSession, readOpenedSession, type SignInClient } from './open-session';
import type { Passwords } from './passwords';
import { knownAddressDays } from './sign-in-addresses';
import { issueTicket } from './tickets';
import { isSsoEnforcedForDomain, isSsoEnforcedSql, mayBreakGlassSql, ssoRequiredError } from '../sso/enforcement';

export interface LoginParts {
  database: Database;
  attempts: Attempts;
  passwords: Passwords;
  clock: Clock;
  /** Maximum number of failures per minute of one account or one address. */
  failures: RatePolicy;
  /** Whether the service has a public address, where some users must set up a second factor. */
  hasPublicAddress: boolean;
}

/**
 * Opens a session, or returns a ticket if the password is not enough. An attempt is counted before the password is
 * checked, and only failures stay counted, so that a busy office behind one address can sign in freely. Attempts from
 * an address that the account knows are counted separately, so that guesses from other addresses do not block it.
 *
 * If single sign-on is enforced for the domain, every rejected attempt gets the same error, so that it reveals neither
 * whether the account exists nor whether the password is right.
 */
export async function logIn(
  { database, attempts, passwords, clock, failures, hasPublicAddress }: LoginParts,
  { email: typedEmail, password }: LoginBody,
  client: SignInClient,
): Promise<OpenedSession | SignInNeeds> {
  const { address } = client;
  const email = typedEmail.toLowerCase();
  const now = clock.now();
  const { user, needsSso } = await passwords.runAccountLookup(async () => ({
    user: await findAccountByEmail(database, { email, address, now }),
    needsSso: await isSsoEnforcedForDomain(database, email),
  }));
  const attempt = await attempts.countAttempt(
    failures,
    user?.knowsAddress ? [`known:${user.id}:${address}`] : [`address:${address}`, `account:${sha256Hex(email)}`],
  );
  const right = await passwords
    .checkPassword(password, user?.passwordHash, user?.knowsAddress ? 'known' : 'other')
    .catch((error: unknown) => {
      // The password was not checked, so the attempt does not count as a failure.
      attempt.forgive();
      throw error;
    });
  if (needsSso && (!right || !user || user.disabled || !mayUsePassword(user))) throw ssoRequiredError();
  if (!right || !user || user.disabled) {
    throw new AppError('unauthenticated', {
      detail: 'The email address or the password is wrong. Check both and try again.',
    });
  }
  attempt.forgive();
  if (user.secondFactorSince) return issueTicket(database, { user, needs: user.hasCodes ? 'totp' : 'passkey', now });
  if (user.requireSecondFactor || (user.mustEnrol && hasPublicAddress))
    return issueTicket(database, { user, needs: 'enrolment', now });
  const session = await database.transaction({ organizationId: user.organizationId }, (tx) =>
    insertSession(tx, { user, client }),
  );
  return readOpenedSession(database, session, client);
}

interface Account
  extends
    Pick<
      UserEntity,
      'id' | 'email' | 'organizationId' | 'passwordHash' | 'disabled' | 'secondFactorSince' | 'mustEnrol'
    >,
    Pick<OrganizationSettingsEntity, 'requireSecondFactor'> {
  knowsAddress: boolean;
  /** Whether the user's organization enforces single sign-on for the user. */
  needsSso: boolean;
  mayBreakGlass: boolean;
  /** Whether the second factor includes an authenticator app; otherwise it is a passkey. */
  hasCodes: boolean;
}

/** Whether a right password is of use: the account may be of another organization, or have emergency access. */
function mayUsePassword({ needsSso, mayBreakGlass, secondFactorSince }: Account): boolean {
  return !needsSso || (mayBreakGlass && secondFactorSince !== null);
}

async function findAccountByEmail(
  database: Database,
  { email, address, now }: { email: string; address: string; now: Date },
): Promise<Account | undefined> {
  const [account] = await database.query<Account>(
    'system',
    `SELECT u.id, u.email, u.organization_id, u.password_hash, u.disabled, u.second_factor_since,
            u.must_enrol, s.require_second_factor, a.last_at IS NOT NULL AS knows_address, f.last_counter > 0 AS has_codes,
            ${isSsoEnforcedSql} AS needs_sso, ${mayBreakGlassSql} AS may_break_glass
     FROM app_user u
     JOIN organization_settings s ON s.organization_id = u.organization_id
     LEFT JOIN second_factor f ON f.user_id = u.id
     LEFT JOIN sign_in_address a ON a.user_id = u.id AND a.address = $2
       AND a.last_at > $3::timestamptz - $4 * interval '1 day'
     WHERE u.email = $1`,
    [email, address, now, knownAddressDays],
    'find_account',
  );
  return account;
}
