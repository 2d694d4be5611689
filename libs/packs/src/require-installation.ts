import { notFoundError } from '@muster/contracts';
import type { Transaction } from '@muster/database';

/**
 * Throws not_found if an id is specified that is not an installation of the organization. Its pinned version is checked
 * when it runs.
 */
export async function requireInstallation(
  tx: Transaction,
  organizationId: string,
  id: string | null | undefined,
): Promise<void> {
  if (!id) return;
  const found = await tx.query('SELECT FROM pack_installation WHERE id = $1 AND organization_id = $2', [
    id,
    organizationId,
  ]);
  if (found.length === 0) throw notFoundError('installation');
}
