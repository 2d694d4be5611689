import { notFoundError } from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  type RuntimeBundleEntity,
  type Transaction,
  type WorkflowPackEntity,
} from '@muster/database';
import type { Page } from '@muster/platform';

/** A pack with the creation time of its draft head. */
export type PackRow = Omit<WorkflowPackEntity, 'organizationId'> & {
  draftCreatedAt: RuntimeBundleEntity['createdAt'] | null;
};
export type PackSummaryRow = PackRow & { versionCount: number; installationCount: number };

const columns = `p.id, p.worker_key, p.name, p.description, p.stage_tags, p.draft_runtime_bundle_id, p.version,
  p.created_at, p.updated_at, d.created_at AS draft_created_at`;
const join = 'workflow_pack p LEFT JOIN runtime_bundle d ON d.id = p.draft_runtime_bundle_id';

export async function findPack(database: Database, organizationId: string, id: string): Promise<PackRow> {
  const [row] = await database.query<PackRow>(
    { organizationId },
    `SELECT ${columns} FROM ${join} WHERE p.id = $1 AND p.organization_id = $2`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('workflow pack');
  return row;
}

/**
 * Locks a pack in a separate statement. A statement that waits for the lock and joins the draft head would return the
 * previous head.
 */
export async function lockPack(tx: Transaction, organizationId: string, id: string): Promise<PackRow> {
  tx.deferStatement('SELECT FROM workflow_pack WHERE id = $1 AND organization_id = $2 FOR UPDATE', [
    id,
    organizationId,
  ]);
  const [row] = await tx.query<PackRow>(`SELECT ${columns} FROM ${join} WHERE p.id = $1 AND p.organization_id = $2`, [
    id,
    organizationId,
  ]);
  if (!row) throw notFoundError('workflow pack');
  return row;
}

export function listPacks(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<PackSummaryRow[]> {
  return database.query<PackSummaryRow>(
    { organizationId },
    `SELECT ${columns},
            (SELECT count(*) FROM pack_version v WHERE v.pack_id = p.id)::integer AS version_count,
            (SELECT count(*) FROM pack_installation i WHERE i.pack_id = p.id)::integer AS installation_count
     FROM ${join} WHERE p.organization_id = $1 AND ($2::uuid IS NULL OR p.id > $2)
       AND ($4::text IS NULL OR ${containsIgnoringCaseSql("p.name || ' ' || p.worker_key", '$4')})
     ORDER BY p.id LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1, q ?? null],
  );
}
