import { AppError, type PackStage } from '@muster/contracts';
import type { Database, PackBundleEntity, PackVersionEntity, RuntimeBundleEntity, Transaction } from '@muster/database';
import type { Page } from '@muster/platform';

interface VersionMove {
  from: PackStage;
  to: PackStage;
  at: string;
  by: string;
  reason: string | null;
}

export type VersionRow = Omit<PackVersionEntity, 'organizationId'> &
  Pick<RuntimeBundleEntity, 'digest'> &
  Pick<PackBundleEntity, 'size'> & { history: VersionMove[] };

/** Times are formatted as in the API, because Postgres formats a time in JSON differently. */
const columns = `v.id, v.pack_id, v.number, v.label, v.notes, v.stage, v.runtime_bundle_id, v.created_by, v.created_at,
  b.digest, o.size,
  (SELECT COALESCE(jsonb_agg(jsonb_build_object(
     'from', m.from_stage, 'to', m.to_stage, 'by', m.moved_by, 'reason', m.reason,
     'at', to_char(m.moved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY m.id), '[]')
   FROM pack_version_move m WHERE m.version_id = v.id) AS history`;
const join = `pack_version v JOIN runtime_bundle b ON b.id = v.runtime_bundle_id
  JOIN pack_bundle o ON o.organization_id = b.organization_id AND o.digest = b.digest`;

interface Names {
  packId: string;
  versionId: string;
}

export async function findVersion(
  database: Database,
  organizationId: string,
  { packId, versionId }: Names,
): Promise<VersionRow> {
  const [row] = await database.query<VersionRow>(
    { organizationId },
    `SELECT ${columns} FROM ${join} WHERE v.id = $1 AND v.pack_id = $2 AND v.organization_id = $3`,
    [versionId, packId, organizationId],
  );
  if (!row) throw versionNotFoundError();
  return row;
}

/** Locks a version, so that its stage does not change until the transaction ends. */
export async function lockPackVersion(
  tx: Transaction,
  organizationId: string,
  { packId, versionId }: Names,
): Promise<VersionRow> {
  tx.deferStatement('SELECT FROM pack_version WHERE id = $1 AND organization_id = $2 FOR UPDATE', [
    versionId,
    organizationId,
  ]);
  return readPackVersion(tx, organizationId, { packId, versionId });
}

export async function readPackVersion(
  tx: Transaction,
  organizationId: string,
  { packId, versionId }: Names,
): Promise<VersionRow> {
  const [row] = await tx.query<VersionRow>(
    `SELECT ${columns} FROM ${join} WHERE v.id = $1 AND v.pack_id = $2 AND v.organization_id = $3`,
    [versionId, packId, organizationId],
  );
  if (!row) throw versionNotFoundError();
  return row;
}

export function listVersions(
  database: Database,
  organizationId: string,
  { packId, page }: { packId: string; page: Page },
): Promise<VersionRow[]> {
  return database.query<VersionRow>(
    { organizationId },
    `SELECT ${columns} FROM ${join}
     WHERE v.pack_id = $1 AND v.organization_id = $2 AND ($3::integer IS NULL OR v.number < $3)
     ORDER BY v.number DESC LIMIT $4`,
    [packId, organizationId, page.after?.[0] ?? null, page.limit + 1],
  );
}

export function versionNotFoundError(): AppError {
  return new AppError('not_found', {
    detail: 'The pack has no version with this id. List the versions of the pack to find the id.',
  });
}
