import type { Transaction, VaultSecretEntity } from '@muster/database';

/** Returns the keys for which the organization's vault has no secret. */
export async function findMissingSecrets(tx: Transaction, organizationId: string, keys: string[]): Promise<string[]> {
  const rows = await tx.query<Pick<VaultSecretEntity, 'key'>>(
    'SELECT key FROM vault_secret WHERE organization_id = $1 AND key = ANY($2)',
    [organizationId, keys],
  );
  return keys.filter((name) => !rows.some(({ key }) => key === name));
}
