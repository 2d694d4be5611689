import { getBoundAgent, generateVaultTotp, type GivenCode, type Principal } from '@muster/access';
import { AppError, isTerminalStatus, notFoundError } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';
import type { KeyRing } from '@muster/vault';

/**
 * Returns the current TOTP code to a run that names the secret in its vault keys. The secret that the code is computed
 * from is not returned.
 */
export function giveTotpToRun(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  caller: Principal,
  { jobId, key }: { jobId: string; key: string },
): Promise<GivenCode> {
  const { organizationId } = caller;
  const agentId = getBoundAgent(caller);
  return database.transaction({ organizationId }, async (tx) => {
    const [job] = await tx.query<Pick<JobEntity, 'status' | 'commandId' | 'vaultKeys'>>(
      `SELECT status, command_id, vault_keys FROM job
       WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)`,
      [jobId, organizationId, agentId],
      'job_of_totp',
    );
    if (!job) throw notFoundError('job');
    if (isTerminalStatus(job.status) || !job.commandId)
      throw new AppError('conflict', { detail: 'The run is not in progress, so it gets no code.' });
    if (!job.vaultKeys.includes(key)) {
      throw new AppError('not_found', {
        detail: `The run does not name ${key} in its vaultKeys. Launch the run with this key to let it use the codes.`,
      });
    }
    return generateVaultTotp(tx, keyRing, caller, { key, holder: { jobId } });
  });
}
