import { randomBytes } from 'node:crypto';
import { AppError, type SecondFactorProof } from '@muster/contracts';
import type { Database, SecondFactorEntity, Transaction, UserEntity } from '@muster/database';
import { Round, sweepRows, type SweepCounts } from '@muster/platform';
import { type KeyRing, openEnvelope, rewrapEnvelope, sealValue } from '@muster/vault';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { sha256Hex } from '../authentication/credentials';
import { deleteTicket } from '../authentication/tickets';
import { encodeBase32, parseTotpSecret, findMatchingWindow } from '../vault/totp';
import { drawQrSvg } from './draw-qr-svg';

/** The user whose second factors are read or changed. */
export type FactorOwner = Pick<UserEntity, 'id' | 'organizationId' | 'email'>;

/**
 * Creates a new TOTP secret. It takes effect when `confirmTotp` gets a code of it. Each call replaces the secret, so
 * that nobody can confirm a setup that another person has started.
 */
export async function startTotp(
  tx: Transaction,
  keyRing: KeyRing,
  owner: FactorOwner,
): Promise<{ secret: string; otpauthUri: string; qrSvg: string }> {
  await requireNoConfirmedFactor(tx, owner);
  const secret = encodeBase32(randomBytes(20));
  const envelope = sealValue(keyRing, buildAssociatedData(owner), secret);
  await tx.execute(
    `INSERT INTO second_factor (user_id, organization_id, master_key_id, wrapped_key, sealed)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (user_id) DO UPDATE
     SET master_key_id = excluded.master_key_id, wrapped_key = excluded.wrapped_key, sealed = excluded.sealed,
         last_counter = 0, recovery_hashes = '{}'`,
    [owner.id, owner.organizationId, envelope.masterKeyId, envelope.wrappedKey, envelope.sealed],
    'begin_totp',
  );
  audit(tx, toUserActor(owner), { action: 'second_factor.begin', target: { type: 'user', id: owner.id } });
  const otpauthUri = `otpauth://totp/Muster:${encodeURIComponent(owner.email)}?secret=${secret}&issuer=Muster`;
  return { secret, otpauthUri, qrSvg: drawQrSvg(otpauthUri) };
}

/**
 * Activates the TOTP secret, so that every sign-in requires a code. All other sessions end, because they were opened
 * without a code. Returns the recovery codes, or null if the code is wrong.
 */
export async function confirmTotp(
  tx: Transaction,
  keyRing: KeyRing,
  owner: FactorOwner,
  { code, sessionId, ticketId }: { code: string; sessionId?: string; ticketId?: string },
): Promise<string[] | null> {
  await requireNoConfirmedFactor(tx, owner);
  const factor = await readSecondFactor(tx, owner.id);
  if (!factor)
    throw new AppError('conflict', {
      detail: 'The setup of an authenticator app has not been started. Start it with POST /api/auth/totp.',
    });
  const counter = findMatchingWindow(
    parseTotpSecret(openEnvelope(keyRing, buildAssociatedData(owner), factor)),
    code.replace(/\s/g, ''),
    tx.now,
  );
  if (counter === null) return null;
  if (ticketId) await deleteTicket(tx, ticketId);
  const recoveryCodes = Array.from({ length: 10 }, generateRecoveryCode);
  await tx.execute(
    'UPDATE second_factor SET last_counter = $2, recovery_hashes = $3 WHERE user_id = $1',
    [owner.id, counter, recoveryCodes.map(hashRecoveryCode)],
    'confirm_totp',
  );
  await tx.execute(
    'UPDATE app_user SET second_factor_since = COALESCE(second_factor_since, $2) WHERE id = $1',
    [owner.id, tx.now],
    'begin_second_factor',
  );
  await endOtherSessionsOfUser(tx, owner.id, sessionId);
  if (sessionId) await tx.execute('UPDATE user_session SET second_factor_at = $2 WHERE id = $1', [sessionId, tx.now]);
  await dropCachedPrincipals(tx);
  audit(tx, toUserActor(owner), { action: 'second_factor.create', target: { type: 'user', id: owner.id } });
  return recoveryCodes;
}

/** Uses up a code or a recovery code of a user whose row is locked. Returns its kind, or null if it is wrong. */
export async function consumeSecondFactorCode(
  tx: Transaction,
  keyRing: KeyRing,
  owner: FactorOwner,
  { code, recoveryCode }: Pick<SecondFactorProof, 'code' | 'recoveryCode'>,
): Promise<'code' | 'recoveryCode' | null> {
  const factor = await readSecondFactor(tx, owner.id);
  if (!isConfirmedFactor(factor)) return null;
  if (code !== undefined) {
    const counter = findMatchingWindow(
      parseTotpSecret(openEnvelope(keyRing, buildAssociatedData(owner), factor)),
      code.replace(/\s/g, ''),
      tx.now,
    );
    if (counter === null || counter <= factor.lastCounter) return null;
    await tx.execute('UPDATE second_factor SET last_counter = $2 WHERE user_id = $1', [owner.id, counter], 'use_totp');
    return 'code';
  }
  const hash = hashRecoveryCode(recoveryCode!);
  if (!factor.recoveryHashes.includes(hash)) return null;
  await tx.execute(
    'UPDATE second_factor SET recovery_hashes = array_remove(recovery_hashes, $2) WHERE user_id = $1',
    [owner.id, hash],
    'use_recovery_code',
  );
  const left = factor.recoveryHashes.length - 1;
  const target = { type: 'user', id: owner.id };
  audit(tx, toUserActor(owner), { action: 'second_factor.use_recovery_code', target, changes: { left } });
  return 'recoveryCode';
}

/** The session in which a user removes a factor. */
export interface OwnSession {
  sessionId: string;
  /** Whether the service has a public address, where some users must have a second factor. */
  hasPublicAddress: boolean;
}

/** Removes the authenticator app with its recovery codes; passkeys stay. */
export async function removeTotp(tx: Transaction, owner: FactorOwner, own: OwnSession): Promise<void> {
  await tx.execute('DELETE FROM second_factor WHERE user_id = $1', [owner.id]);
  await endSessionsAfterRemoval(tx, owner, own);
}

/** Removes the authenticator app, its recovery codes and every passkey. */
export async function removeAllSecondFactors(tx: Transaction, owner: FactorOwner): Promise<void> {
  await tx.execute('DELETE FROM second_factor WHERE user_id = $1', [owner.id]);
  await tx.execute('DELETE FROM passkey WHERE user_id = $1', [owner.id]);
  await endSessionsAfterRemoval(tx, owner);
}

/**
 * Ends the user's sessions, because the removed factor may have opened them. The user's own session stays open, unless
 * no factor is left and the user must have one.
 */
export async function endSessionsAfterRemoval(tx: Transaction, owner: FactorOwner, own?: OwnSession): Promise<void> {
  const [left] = await tx.query<{ suffices: boolean }>(
    `UPDATE app_user u
     SET second_factor_since =
       CASE WHEN EXISTS (SELECT FROM passkey p WHERE p.user_id = u.id)
              OR EXISTS (SELECT FROM second_factor f WHERE f.user_id = u.id AND f.last_counter > 0)
            THEN u.second_factor_since END
     FROM organization_settings s
     WHERE u.id = $1 AND s.organization_id = u.organization_id
     RETURNING u.second_factor_since IS NOT NULL
               OR NOT (s.require_second_factor OR u.must_enrol AND $2::boolean) AS suffices`,
    [owner.id, own?.hasPublicAddress ?? false],
    'factors_left',
  );
  await endOtherSessionsOfUser(tx, owner.id, left?.suffices ? own?.sessionId : undefined);
  await dropCachedPrincipals(tx);
}

/** Ends the user's sessions, except `keptSessionId`, and deletes the tickets of unfinished sign-ins. */
export async function endOtherSessionsOfUser(tx: Transaction, userId: string, keptSessionId?: string): Promise<void> {
  await tx.execute('DELETE FROM user_session WHERE user_id = $1 AND id IS DISTINCT FROM $2::uuid', [
    userId,
    keptSessionId ?? null,
  ]);
  await tx.execute('DELETE FROM sign_in_ticket WHERE user_id = $1', [userId]);
}

interface OwnFactor {
  since: Date | null;
  recoveryCodesLeft: number;
  passkeys: number;
}

/**
 * Returns when the user set up a second factor (null without an app), and how many recovery codes and passkeys there
 * are.
 */
export async function readOwnSecondFactor(
  database: Database,
  { id, organizationId }: Pick<FactorOwner, 'id' | 'organizationId'>,
): Promise<OwnFactor> {
  const [row] = await database.query<OwnFactor & object>(
    { organizationId },
    `SELECT CASE WHEN f.last_counter > 0 THEN u.second_factor_since END AS since,
            CASE WHEN f.last_counter > 0 THEN cardinality(f.recovery_hashes) ELSE 0 END AS recovery_codes_left,
            (SELECT count(*)::integer FROM passkey p WHERE p.user_id = u.id) AS passkeys
     FROM app_user u LEFT JOIN second_factor f ON f.user_id = u.id
     WHERE u.id = $1`,
    [id],
    'own_factor',
  );
  return row!;
}

/** Rewraps the TOTP secrets with the active master key, so that an old master key can be removed from the ring. */
export function rewrapSecondFactors(
  database: Database,
  keyRing: KeyRing,
  round = new Round('rewrap second factors'),
): Promise<SweepCounts<'rewrapped'>> {
  return sweepRows(round, {
    name: 'second factors',
    outcomes: ['rewrapped'],
    candidates: (after: OwnerKey | null, limit) =>
      database.query<OwnerKey & object>(
        'system',
        `SELECT user_id, organization_id FROM second_factor
         WHERE master_key_id <> $1 AND ($2::uuid IS NULL OR user_id > $2) ORDER BY user_id LIMIT $3`,
        [keyRing.activeKey.id, after?.userId ?? null, limit],
      ),
    settle: (owner) => database.transaction('system', (tx) => rewrapSecondFactor(tx, keyRing, owner)),
    rowOf: ({ userId }) => `second factor of ${userId}`,
  });
}

type OwnerKey = Pick<SecondFactorEntity, 'userId' | 'organizationId'>;

async function rewrapSecondFactor(tx: Transaction, keyRing: KeyRing, { userId, organizationId }: OwnerKey) {
  const [row] = await tx.query<SecondFactorEntity>(
    'SELECT master_key_id, wrapped_key, sealed FROM second_factor WHERE user_id = $1 FOR UPDATE SKIP LOCKED',
    [userId],
  );
  const rewrapped = row && rewrapEnvelope(keyRing, buildAssociatedData({ id: userId, organizationId }), row);
  if (!rewrapped) return null;
  await tx.execute('UPDATE second_factor SET master_key_id = $2, wrapped_key = $3 WHERE user_id = $1', [
    userId,
    rewrapped.masterKeyId,
    rewrapped.wrappedKey,
  ]);
  return 'rewrapped' as const;
}

async function requireNoConfirmedFactor(tx: Transaction, { id }: FactorOwner): Promise<void> {
  await lockAndReadTotpSetupTime(tx, id);
  if (!isConfirmedFactor(await readSecondFactor(tx, id))) return;
  throw new AppError('conflict', { detail: 'This account already has an authenticator app; remove it first.' });
}

/** Locks the user's row; returns when the user set up a second factor, or null. */
export async function lockAndReadTotpSetupTime(tx: Transaction, userId: string): Promise<Date | null> {
  const [row] = await tx.query<Pick<UserEntity, 'secondFactorSince'>>(
    'SELECT second_factor_since FROM app_user WHERE id = $1 FOR NO KEY UPDATE',
    [userId],
    'lock_user',
  );
  return row?.secondFactorSince ?? null;
}

async function readSecondFactor(tx: Transaction, userId: string): Promise<SecondFactorEntity | undefined> {
  const [row] = await tx.query<SecondFactorEntity>(
    'SELECT master_key_id, wrapped_key, sealed, last_counter, recovery_hashes FROM second_factor WHERE user_id = $1',
    [userId],
    'read_factor',
  );
  return row;
}

/** Whether the user has confirmed a first code, which sets `lastCounter`. */
function isConfirmedFactor(factor: SecondFactorEntity | undefined): factor is SecondFactorEntity {
  return factor !== undefined && Number(factor.lastCounter) > 0;
}

/** Returns 120 random bits as six groups of four characters: more than 112 bits, so that a fast hash is sufficient. */
function generateRecoveryCode(): string {
  return encodeBase32(randomBytes(15)).toLowerCase().match(/.{4}/g)!.join('-');
}

function hashRecoveryCode(recoveryCode: string): string {
  return sha256Hex(recoveryCode.toLowerCase().replace(/[^a-z2-7]/g, ''));
}

/** The associated data that binds the sealed secret to its owner. */
function buildAssociatedData({ id, organizationId }: Pick<FactorOwner, 'id' | 'organizationId'>): string {
  return `${organizationId}/user/${id}/totp`;
}

export function toUserActor({ id, email, organizationId }: FactorOwner) {
  return { kind: 'user' as const, id, email, organizationId };
}
