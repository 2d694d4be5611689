import { notFoundError } from '@muster/contracts';
import type { Database, PackInstallationEntity, PackInstallationMoveEntity, Transaction } from '@muster/database';
import type { Page } from '@muster/platform';

export type InstallationRow = Omit<PackInstallationEntity, 'organizationId'>;

const columns = 'id, pack_id, name, metadata, pinned_version_id, previous_version_id, version, created_at, updated_at';
const select = `SELECT ${columns} FROM pack_installation`;

export async function findInstallation(
  database: Database,
  organizationId: string,
  id: string,
): Promise<InstallationRow> {
  const [row] = await database.query<InstallationRow>(
    { organizationId },
    `${select} WHERE id = $1 AND organization_id = $2`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('installation');
  return row;
}

/** Locks an installation. Waits for transactions that launch jobs, which hold a shared lock. */
export async function lockInstallation(tx: Transaction, organizationId: string, id: string): Promise<InstallationRow> {
  const [row] = await tx.query<InstallationRow>(`${select} WHERE id = $1 AND organization_id = $2 FOR UPDATE`, [
    id,
    organizationId,
  ]);
  if (!row) throw notFoundError('installation');
  return row;
}

export function listInstallations(
  database: Database,
  organizationId: string,
  { page, packId }: { page: Page; packId?: string },
): Promise<InstallationRow[]> {
  return database.query<InstallationRow>(
    { organizationId },
    `${select} WHERE organization_id = $1 AND ($2::uuid IS NULL OR id < $2) AND ($3::uuid IS NULL OR pack_id = $3)
     ORDER BY id DESC LIMIT $4`,
    [organizationId, page.after?.[0] ?? null, packId ?? null, page.limit + 1],
  );
}

export type InstallationMoveRow = Pick<
  PackInstallationMoveEntity,
  'id' | 'action' | 'fromVersionId' | 'toVersionId' | 'movedBy' | 'reason' | 'movedAt'
>;

export async function listInstallationMoves(
  database: Database,
  organizationId: string,
  { id, page }: { id: string; page: Page },
): Promise<InstallationMoveRow[]> {
  await findInstallation(database, organizationId, id);
  return database.query<InstallationMoveRow>(
    { organizationId },
    `SELECT id, action, from_version_id, to_version_id, moved_by, reason, moved_at FROM pack_installation_move
     WHERE installation_id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [id, organizationId, page.after?.[0] ?? null, page.limit + 1],
  );
}
