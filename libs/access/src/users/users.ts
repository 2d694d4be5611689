import {
  AppError,
  type CreateUserBody,
  hasPermissionsOf,
  notFoundError,
  type RoleHolder,
  type UpdateUserBody,
} from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  type Transaction,
  UserEntity,
  getViolatedConstraint,
} from '@muster/database';
import { newId, type Page } from '@muster/platform';
import { downgradeKeysOfUsers, revokeKeysOfUser } from '../api-keys/user-keys';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { deleteSignInAddresses } from '../authentication/sign-in-addresses';
import { endOtherSessionsOfUser, removeAllSecondFactors } from '../second-factor/second-factors';
import type { Actor } from '../audit/audit';
import type { Principal } from '../principal';
import { deleteLinks } from '../sso/links';
import { loadGrantableRole, loadRole } from './own-roles';

export function listUsers(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<UserEntity[]> {
  return database.transaction({ organizationId }, (tx) => {
    const users = tx.manager
      .createQueryBuilder(UserEntity, 'u')
      .where('u.organizationId = :organizationId', { organizationId })
      .orderBy('u.id')
      .limit(page.limit + 1);
    if (q) users.andWhere(containsIgnoringCaseSql('u.email', ':q'), { q });
    if (page.after) users.andWhere('u.id > :after', { after: page.after[0] });
    return users.getMany();
  });
}

export function findUser(database: Database, organizationId: string, id: string): Promise<UserEntity> {
  return database.transaction({ organizationId }, (tx) => loadUser(tx, organizationId, id));
}

/** A user with a password hash. Hashing is slow, so it happens before the transaction. */
export type NewUser = Omit<CreateUserBody, 'password'> & { passwordHash: string };
export type UserChange = Omit<UpdateUserBody, 'password'> & { passwordHash?: string };

type ActiveUser = Pick<UserEntity, 'id' | 'organizationId' | 'role' | 'disabled'>;

export async function createUser(tx: Transaction, caller: Principal, input: NewUser): Promise<UserEntity> {
  await loadGrantableRole(tx, caller, input.role);
  return insertUser(tx, caller, { ...input, organizationId: caller.organizationId });
}

/**
 * Inserts a user with an existing role. The actor's role is not checked, because no user of an organization can create
 * its first admin.
 */
export async function insertUser(
  tx: Transaction,
  actor: Actor | Principal,
  input: NewUser & { organizationId: string; mustEnrol?: true },
): Promise<UserEntity> {
  const { organizationId, role, passwordHash, mustEnrol = false } = input;
  const email = input.email.toLowerCase();
  const id = newId();
  try {
    await tx.manager.insert(UserEntity, { id, organizationId, email, role, passwordHash, mustEnrol });
  } catch (error) {
    throw toEmailError(error);
  }
  audit(tx, actor, {
    action: 'user.create',
    target: { type: 'user', id },
    changes: { email, role },
    organizationId,
  });
  return tx.manager.findOneByOrFail(UserEntity, { id });
}

/**
 * Changes the role, the password, the emergency access or `disabled`. Sessions and keys that the change no longer
 * allows end at once.
 */
export async function updateUser(
  tx: Transaction,
  caller: Principal,
  id: string,
  change: UserChange,
): Promise<UserEntity> {
  const user = await loadUser(tx, caller.organizationId, id, 'lock');
  await requireChangeableUser(tx, caller, user);
  const granted = change.role ? await loadGrantableRole(tx, caller, change.role) : null;
  const role = change.role ?? user.role;
  const disabled = change.disabled ?? user.disabled;
  if (isActiveAdmin(user) && (disabled || !isAdmin(role))) await requireAnotherAdmin(tx, user);
  const passwordHash = change.passwordHash ?? user.passwordHash;
  const breakGlass = decideEmergencyAccess(user, role, change.breakGlass);
  await saveUserChanges(tx, id, { role, disabled, passwordHash, breakGlass });
  if (user.role === 'super_admin' && role !== user.role) {
    // Otherwise a user who becomes super_admin again would still be switched to another organization.
    await tx.execute('UPDATE user_session SET override_organization_id = NULL WHERE user_id = $1', [id]);
  }
  if (change.passwordHash || (disabled && !user.disabled)) {
    await endOtherSessionsOfUser(tx, id);
    await revokeKeysOfUser(tx, user);
  }
  // An admin who enables an account vouches for the person who has its address now.
  if (user.disabled && !disabled) await deleteLinks(tx, id);
  if (granted) await downgradeKeysOfUsers(tx, user.organizationId, [id], granted);
  if (change.passwordHash) await deleteSignInAddresses(tx, id);
  await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: disabled && !user.disabled ? 'user.disable' : 'user.update',
    target: { type: 'user', id },
    changes: {
      ...(role === user.role ? {} : { role: [user.role, role] }),
      ...(disabled === user.disabled ? {} : { disabled: [user.disabled, disabled] }),
      ...(breakGlass === user.breakGlass ? {} : { breakGlass: [user.breakGlass, breakGlass] }),
      ...(change.passwordHash ? { passwordChanged: true } : {}),
    },
  });
  return { ...user, role, disabled, breakGlass };
}

/** Returns whether the user has emergency access after the change. A user who is no longer an admin loses it. */
function decideEmergencyAccess(user: UserEntity, role: string, wanted: boolean | undefined): boolean {
  if (wanted && role !== 'admin') {
    throw new AppError('conflict', {
      detail: 'Only an admin can have the emergency access; a super_admin does not need it.',
    });
  }
  return role === 'admin' && (wanted ?? user.breakGlass);
}

async function saveUserChanges(
  tx: Transaction,
  id: string,
  set: Pick<UserEntity, 'role' | 'disabled' | 'passwordHash' | 'breakGlass'>,
): Promise<void> {
  try {
    await tx.manager.update(UserEntity, { id }, set);
  } catch (error) {
    if (getViolatedConstraint(error) !== 'app_user_break_glass_key') throw error;
    throw new AppError('conflict', {
      detail: 'Another admin has the emergency access. Remove it from that admin first.',
    });
  }
}

/**
 * Sets the role that the identity provider reports for a locked user. The last admin stays an admin, because an
 * organization without an admin could only be repaired by hand.
 */
export async function setReportedRole(
  tx: Transaction,
  user: ActiveUser,
  holder: RoleHolder,
  actor: Actor,
): Promise<void> {
  const { role } = holder;
  if (isActiveAdmin(user) && !isAdmin(role) && !(await hasAnotherAdmin(tx, user))) return;
  const { id, organizationId } = user;
  await tx.manager.update(UserEntity, { id }, { role, ...(role === 'admin' ? {} : { breakGlass: false }) });
  await downgradeKeysOfUsers(tx, organizationId, [id], holder);
  await dropCachedPrincipals(tx);
  audit(tx, actor, { action: 'user.update', target: { type: 'user', id }, changes: { role: [user.role, role] } });
}

/**
 * Sets the address that the identity provider reports for a locked user. Throws conflict if another account has it.
 */
export async function setReportedEmail(
  tx: Transaction,
  { id, email: before }: Pick<UserEntity, 'id' | 'email'>,
  email: string,
  actor: Actor,
): Promise<void> {
  try {
    await tx.execute('UPDATE app_user SET email = $2 WHERE id = $1', [id, email]);
  } catch (error) {
    throw toEmailError(error);
  }
  // A mailed link belongs to the address that it was sent to.
  await tx.execute('DELETE FROM account_link WHERE user_id = $1', [id]);
  await dropCachedPrincipals(tx);
  audit(tx, actor, { action: 'user.update', target: { type: 'user', id }, changes: { email: [before, email] } });
}

function toEmailError(error: unknown): unknown {
  if (getViolatedConstraint(error) !== 'app_user_email_key') return error;
  return new AppError('conflict', {
    detail: 'An account with this email address already exists. Use another address.',
    errors: [{ field: 'email', message: 'email is taken' }],
  });
}

/** Removes all second factors of a user who has lost them. Callers remove their own ones with a proof instead. */
export async function resetSecondFactor(tx: Transaction, caller: Principal, id: string): Promise<void> {
  const user = await loadUser(tx, caller.organizationId, id, 'lock');
  await requireChangeableUser(tx, caller, user);
  if (user.id === caller.id)
    throw new AppError('conflict', {
      detail: 'You cannot reset your own second factor here. Remove it with a code under your security settings.',
    });
  if (!user.secondFactorSince)
    throw new AppError('conflict', { detail: 'This account has no second factor, so nothing can be reset.' });
  await removeAllSecondFactors(tx, user);
  await deleteSignInAddresses(tx, id);
  audit(tx, caller, { action: 'second_factor.reset', target: { type: 'user', id } });
}

/** Throws if the user may do anything that the caller may not: otherwise the caller could sign in as the user. */
async function requireChangeableUser(tx: Transaction, caller: Principal, user: UserEntity): Promise<void> {
  const role = await loadRole(tx, user.organizationId, user.role);
  if (!role || hasPermissionsOf(caller, role)) return;
  throw new AppError('permission_denied', {
    detail: `You cannot change an account with the role ${user.role}. Ask a user with this role.`,
  });
}

async function loadUser(tx: Transaction, organizationId: string, id: string, lock?: 'lock'): Promise<UserEntity> {
  const user = await tx.manager.findOne(UserEntity, {
    where: { id, organizationId },
    ...(lock ? { lock: { mode: 'pessimistic_write' as const } } : {}),
  });
  if (!user) throw notFoundError('user');
  return user;
}

function isActiveAdmin(user: ActiveUser): boolean {
  return isAdmin(user.role) && !user.disabled;
}

function isAdmin(role: string): boolean {
  return role === 'admin' || role === 'super_admin';
}

/** Throws for the last active admin: an organization without an admin could only be repaired by hand. */
export async function requireAnotherAdmin(tx: Transaction, user: ActiveUser): Promise<void> {
  if (await hasAnotherAdmin(tx, user)) return;
  throw new AppError('conflict', {
    detail: 'This is the last admin of the organization. Give another user the role admin first.',
  });
}

async function hasAnotherAdmin(tx: Transaction, user: ActiveUser): Promise<boolean> {
  const others = await tx.query(
    `SELECT id FROM app_user
     WHERE organization_id = $1 AND id <> $2 AND role IN ('admin', 'super_admin') AND NOT disabled
     FOR SHARE`,
    [user.organizationId, user.id],
  );
  return others.length > 0;
}
