import { AppError } from '@muster/contracts';
import type { Transaction, VaultSecretEntity } from '@muster/database';
import { type KeyRing, openEnvelope } from '@muster/vault';
import { audit } from '../audit/audit';
import type { Principal } from '../principal';
import { buildSecretAssociatedData } from './secrets';
import { parseTotpSecret, computeTotpCode } from './totp';

/**
 * Minimum remaining validity of a code in milliseconds. If less remains, the code of the next time window is returned,
 * so that the code is still valid when the run uses it.
 */
const minValidMs = 3000;

export interface GivenCode {
  code: string;
  /** The code must not be used before this time. */
  validFrom: Date;
  validUntil: Date;
}

/**
 * Returns a TOTP code for one run. If another run got the current code, the run gets the code of a later time window,
 * so that no two runs get the same code.
 */
export async function generateVaultTotp(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { key, jobId }: { key: string; jobId: string },
): Promise<GivenCode> {
  const { organizationId } = caller;
  const [row] = await tx.query<VaultSecretEntity>(
    `SELECT master_key_id, wrapped_key, sealed, totp_counter, totp_job_id FROM vault_secret
     WHERE organization_id = $1 AND key = $2 AND kind = 'totp' FOR UPDATE`,
    [organizationId, key],
    'lock_totp',
  );
  if (!row)
    throw new AppError('not_found', {
      detail: `The vault has no secret ${key} of the kind totp. Ask an admin to add it.`,
    });
  const totp = parseTotpSecret(openEnvelope(keyRing, buildSecretAssociatedData(organizationId, key), row));
  const periodMs = totp.periodSeconds * 1000;
  const now = tx.now.getTime();
  const current = Math.floor((now + Math.min(minValidMs, periodMs / 2)) / periodMs);
  const last = row.totpCounter ?? -1;
  const isFree = current > last || (current === last && row.totpJobId === jobId);
  const counter = isFree ? current : row.totpJobId === jobId ? last : last + 1;
  await tx.execute(
    'UPDATE vault_secret SET totp_counter = $3, totp_job_id = $4 WHERE organization_id = $1 AND key = $2',
    [organizationId, key, counter, jobId],
    'give_totp',
  );
  audit(tx, caller, { action: 'secret.totp', target: { type: 'secret', id: key }, changes: { jobId } });
  return {
    code: computeTotpCode(totp, counter),
    validFrom: new Date(counter * periodMs),
    validUntil: new Date((counter + 1) * periodMs),
  };
}
