import { AppError } from '@muster/contracts';
import type { Transaction, VaultSecretEntity } from '@muster/database';
import { type KeyRing, openEnvelope } from '@muster/vault';
import { type Actor, audit } from '../audit/audit';
import type { Principal } from '../principal';
import { buildSecretAssociatedData } from './secrets';
import { parseTotpSecret, computeTotpCode } from './totp';

/**
 * Default of the minimum remaining validity of a code in milliseconds. If less remains, the code of the next time window
 * is returned, so that the code is still valid when the run uses it.
 */
const defaultMinValidMs = 3000;

export interface GivenCode {
  code: string;
  /** The code must not be used before this time. */
  validFrom: Date;
  validUntil: Date;
}

interface TotpRequest {
  key: string;
  /** Run that gets the code, or the autopilot session. */
  holder: { jobId: string } | { sessionId: string };
  minValidMs?: number;
}

/**
 * Returns a TOTP code for one run. If another run got the current code, the run gets the code of a later time window,
 * so that no two runs get the same code.
 */
export async function generateVaultTotp(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal | Actor,
  { key, holder, minValidMs = defaultMinValidMs }: TotpRequest,
): Promise<GivenCode> {
  const { organizationId } = caller;
  const holderId = 'jobId' in holder ? holder.jobId : holder.sessionId;
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
  const isFree = current > last || (current === last && row.totpJobId === holderId);
  const counter = isFree ? current : row.totpJobId === holderId ? last : last + 1;
  await tx.execute(
    'UPDATE vault_secret SET totp_counter = $3, totp_job_id = $4 WHERE organization_id = $1 AND key = $2',
    [organizationId, key, counter, holderId],
    'give_totp',
  );
  const changes: { jobId?: string; sessionId?: string } = holder;
  audit(tx, caller, { action: 'secret.totp', target: { type: 'secret', id: key }, changes });
  return {
    code: computeTotpCode(totp, counter),
    validFrom: new Date(counter * periodMs),
    validUntil: new Date((counter + 1) * periodMs),
  };
}
