import { AppError, type ChangePasswordBody } from '@muster/contracts';
import type { Database, UserEntity } from '@muster/database';
import type { Attempts, RatePolicy } from '@muster/platform';
import { revokeKeysOfUser } from '../api-keys/user-keys';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import type { Passwords } from '../authentication/passwords';
import { deleteSignInAddresses, recordSignInAddress } from '../authentication/sign-in-addresses';
import type { UserPrincipal } from '../principal';
import { endOtherSessionsOfUser } from '../second-factor/second-factors';

export interface OwnPasswordParts {
  database: Database;
  attempts: Attempts;
  passwords: Passwords;
  failures: RatePolicy;
}

/**
 * Checks the caller's password, for an action that an open session is not enough for. Failures are limited as for a
 * sign-in, so a signed-in user cannot guess more often. Returns the stored hash.
 */
export async function requireOwnPassword(
  { database, attempts, passwords, failures }: OwnPasswordParts,
  caller: UserPrincipal,
  { password, field, address }: { password: string; field: string; address: string },
): Promise<string> {
  const attempt = await attempts.countAttempt(failures, [`known:${caller.id}:${address}`]);
  const [user] = await database.query<Pick<UserEntity, 'passwordHash'>>(
    { organizationId: caller.homeOrganizationId },
    'SELECT password_hash FROM app_user WHERE id = $1',
    [caller.id],
  );
  const right = await passwords.checkPassword(password, user?.passwordHash, 'known').catch((error: unknown) => {
    attempt.forgive();
    throw error;
  });
  if (!user || !right) {
    throw new AppError('permission_denied', {
      detail: 'The password is wrong. Try again, or request a link to set a new one.',
      errors: [{ field, message: 'password is wrong' }],
    });
  }
  attempt.forgive();
  return user.passwordHash;
}

/** Changes the caller's password. Ends all other sessions, and revokes the keys of the caller's device sign-ins. */
export async function changeOwnPassword(
  parts: OwnPasswordParts,
  caller: UserPrincipal,
  { oldPassword, newPassword, address }: ChangePasswordBody & { address: string },
): Promise<void> {
  const { id, email, sessionId, homeOrganizationId: organizationId } = caller;
  const oldHash = await requireOwnPassword(parts, caller, { password: oldPassword, field: 'oldPassword', address });
  const newHash = await parts.passwords.hashNewPassword(newPassword, { email, field: 'newPassword' });
  await parts.database.transaction({ organizationId }, async (tx) => {
    const changed = await tx.execute(
      'UPDATE app_user SET password_hash = $2 WHERE id = $1 AND password_hash = $3',
      [id, newHash, oldHash],
      'change_own_password',
    );
    if (changed === 0)
      throw new AppError('conflict', {
        detail: 'The password was changed by another request. Sign in with the new password.',
      });
    await endOtherSessionsOfUser(tx, id, sessionId);
    await revokeKeysOfUser(tx, { id, organizationId });
    await deleteSignInAddresses(tx, id);
    await recordSignInAddress(tx, { user: { id, organizationId }, address, now: tx.now });
    await dropCachedPrincipals(tx);
    audit(tx, caller, { action: 'user.change_password', target: { type: 'user', id }, organizationId });
  });
}
