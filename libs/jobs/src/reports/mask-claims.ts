import { createSecretRedactor, openVariables } from '@muster/access';
import { type ClaimResult, sealedMark } from '@muster/contracts';
import type { Database, JobEntity } from '@muster/database';
import type { KeyRing } from '@muster/vault';

/**
 * Replaces the values of the job's sensitive variables in the messages and the metadata of reported claims, which are
 * stored, searched and exported in plain text. The id of a claim stays as it is, because it identifies the claim.
 */
export async function maskSensitiveClaims(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  { organizationId, jobId }: { organizationId: string; jobId: string },
  claims: ClaimResult[],
): Promise<ClaimResult[]> {
  const [job] = await database.query<Pick<JobEntity, 'variables'>>(
    { organizationId },
    `SELECT variables FROM job WHERE id = $1 AND organization_id = $2 AND jsonb_path_exists(variables, '$.*.sealed')`,
    [jobId, organizationId],
    'sealed_variables',
  );
  if (!job) return claims;
  const values = Object.values(await openVariables(database, keyRing, organizationId, job.variables));
  const { text, deep } = createSecretRedactor(values, sealedMark);
  return claims.map(({ message, metadata, ...claim }) => ({
    ...claim,
    message: message ? text(message) : message,
    metadata: metadata ? deep(metadata) : metadata,
  }));
}
