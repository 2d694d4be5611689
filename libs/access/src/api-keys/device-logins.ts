import { randomBytes, randomInt } from 'node:crypto';
import { AppError, type RoleHolder } from '@muster/contracts';
import type { Database, DeviceLoginEntity, Transaction, UserEntity } from '@muster/database';
import { type Clock, newId } from '@muster/platform';
import { insertApiKey, readLatestExpiry, type NewApiKey } from './api-keys';
import { chooseRoleOfUserKeys } from './user-keys';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { sha256Hex } from '../authentication/credentials';
import type { Principal, UserPrincipal } from '../principal';
import { loadRole } from '../users/own-roles';

export const devicePollSeconds = 5;

/** Alphabet of user codes: letters that are easy to read and type and that form no words (RFC 8628, 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

export interface DeviceCodes {
  deviceCode: string;
  userCode: string;
}

/** Stores the sign-in request of a program. Returns the code that the program polls with and the code that it shows. */
export async function startDeviceLogin(
  database: Database,
  { deviceName, address, now, lifetimeMs }: { deviceName: string; address: string; now: Date; lifetimeMs: number },
): Promise<DeviceCodes> {
  const deviceCode = `mdl_${randomBytes(32).toString('base64url')}`;
  const userCode = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('');
  await database.query(
    'system',
    `INSERT INTO device_login (id, device_hash, user_code, device_name, address, poll_seconds, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      ...[newId(), sha256Hex(deviceCode), userCode, deviceName, address, devicePollSeconds, now],
      new Date(now.getTime() + lifetimeMs),
    ],
    'begin_device_login',
  );
  return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}` };
}

type WaitingDevice = Pick<DeviceLoginEntity, 'deviceName' | 'address' | 'createdAt' | 'expiresAt' | 'userCode'>;

/** Finds the unanswered request of the program that shows this code. Throws not_found if there is none. */
export async function findDeviceLogin(database: Database, userCode: string, now: Date): Promise<WaitingDevice> {
  const [row] = await database.query<WaitingDevice>(
    'system',
    `SELECT device_name, address, created_at, expires_at, user_code FROM device_login
     WHERE user_code = $1 AND answer IS NULL AND expires_at > $2`,
    [normalizeUserCode(userCode), now],
    'find_device_login',
  );
  if (!row) throw unknownDeviceError();
  return { ...row, userCode: `${row.userCode.slice(0, 4)}-${row.userCode.slice(4)}` };
}

/** Allows or denies a program's request. An allowed program acts as the caller, with a member's rights at most. */
export async function answerDeviceLogin(
  tx: Transaction,
  caller: Principal,
  { userCode, allow, now }: { userCode: string; allow: boolean; now: Date },
): Promise<void> {
  if (allow && chooseRoleOfUserKeys(caller) === null) {
    throw new AppError('permission_denied', {
      detail: 'A program gets at least the permissions of a viewer, and your role does not have all of them.',
    });
  }
  // A super admin may be viewing another organization. The key belongs to the organization of the super admin's
  // account, because it is deleted together with the account.
  const { id: userId, homeOrganizationId: organizationId } = caller as UserPrincipal;
  const [row] = await tx.query<Pick<DeviceLoginEntity, 'id' | 'deviceName' | 'address'>>(
    `UPDATE device_login SET answer = $3, user_id = $4, organization_id = $5
     WHERE user_code = $1 AND answer IS NULL AND expires_at > $2 RETURNING id, device_name, address`,
    [normalizeUserCode(userCode), now, allow ? 'allowed' : 'denied', userId, organizationId],
    'answer_device_login',
  );
  if (!row) throw unknownDeviceError();
  const { deviceName, address } = row;
  audit(tx, caller, {
    action: allow ? 'device_login.allow' : 'device_login.deny',
    target: { type: 'device_login', id: row.id },
    changes: { deviceName, address },
    organizationId,
  });
}

type Poll = Pick<
  DeviceLoginEntity,
  'id' | 'deviceName' | 'answer' | 'userId' | 'organizationId' | 'pollSeconds' | 'polledAt'
>;

/** Returns the API key of an allowed program. The key is created when it is fetched, so its secret is never stored. */
export async function fetchDeviceKey(database: Database, deviceCode: string, clock: Clock): Promise<NewApiKey> {
  const now = clock.now();
  const fetched = await database.transaction('system', async (tx): Promise<NewApiKey | AppError> => {
    const [login] = await tx.query<Poll>(
      `SELECT id, device_name, answer, user_id, organization_id, poll_seconds, polled_at FROM device_login
       WHERE device_hash = $1 AND expires_at > $2 FOR UPDATE`,
      [sha256Hex(deviceCode), now],
      'poll_device_login',
    );
    if (!login) return createPollError('expired_token', 'The code is unknown or has expired; start the sign-in again.');
    if (login.answer === null) return recordPendingPoll(tx, login, now);
    await tx.execute('DELETE FROM device_login WHERE id = $1', [login.id], 'use_device_login');
    const user = login.answer === 'allowed' ? await findUserForLogin(tx, login.userId) : undefined;
    const role = user && chooseRoleOfUserKeys(user.holder);
    if (!role) return createPollError('access_denied', 'This sign-in was denied. Stop polling, and begin a new one.');
    const organizationId = login.organizationId!;
    return insertApiKey(
      tx,
      { kind: 'user', id: user.id, email: user.email, organizationId },
      {
        organizationId,
        name: login.deviceName,
        scope: 'api',
        agentId: null,
        userId: user.id,
        role,
        expiresAt: await readLatestExpiry(tx, organizationId, now),
      },
    );
  });
  if (fetched instanceof AppError) throw fetched;
  return fetched;
}

/**
 * Revokes the key of the calling program. Throws conflict if the key was created by name, because only an admin may
 * revoke such a key.
 */
export async function endDeviceLogin(tx: Transaction, caller: Principal): Promise<void> {
  const ended = await tx.execute('DELETE FROM api_key WHERE id = $1 AND user_id IS NOT NULL', [caller.id]);
  if (ended === 0) {
    throw new AppError('conflict', {
      detail:
        'This key does not come from the sign-in of a program, so it cannot sign out. Ask an admin to revoke it ' +
        'under API keys.',
    });
  }
  await dropCachedPrincipals(tx);
  audit(tx, caller, { action: 'api_key.delete', target: { type: 'api_key', id: caller.id } });
}

/** Returns the error for a poll before the user has answered. Slows down a program that polls too often (RFC 8628). */
async function recordPendingPoll(tx: Transaction, { id, pollSeconds, polledAt }: Poll, now: Date): Promise<AppError> {
  // A program that waits exactly for the interval may arrive a few milliseconds early.
  const isEarly = polledAt !== null && now.getTime() - polledAt.getTime() < pollSeconds * 1000 - 500;
  await tx.execute(
    'UPDATE device_login SET polled_at = $2, poll_seconds = $3 WHERE id = $1',
    [id, now, isEarly ? pollSeconds + 5 : pollSeconds],
    'note_device_poll',
  );
  return isEarly
    ? createPollError('slow_down', `The program polls too often. Poll at most once every ${pollSeconds + 5} seconds.`)
    : createPollError('authorization_pending', 'No person has allowed or denied the sign-in yet. Continue to poll.');
}

async function findUserForLogin(
  tx: Transaction,
  id: string | null,
): Promise<(Pick<UserEntity, 'id' | 'email'> & { holder: RoleHolder }) | undefined> {
  const [user] = await tx.query<Pick<UserEntity, 'id' | 'email' | 'role' | 'organizationId'>>(
    'SELECT id, email, role, organization_id FROM app_user WHERE id = $1 AND NOT disabled FOR SHARE',
    [id],
    'user_of_device_login',
  );
  const holder = user && (await loadRole(tx, user.organizationId, user.role));
  return holder ? { ...user, holder } : undefined;
}

type Refusal = 'access_denied' | 'authorization_pending' | 'expired_token' | 'slow_down';

/** An error with the member `error`, which clients of RFC 8628 read. */
function createPollError(code: Refusal, detail: string): AppError {
  return new AppError(code, { detail, extra: { error: code } });
}

function unknownDeviceError(): AppError {
  return new AppError('not_found', {
    detail: 'No program waits with this code. The code may have expired after ten minutes, or was answered already.',
  });
}

/** Converts a typed code to its stored form: capital letters only. */
function normalizeUserCode(userCode: string): string {
  return userCode.toUpperCase().replace(/[^A-Z]/g, '');
}
