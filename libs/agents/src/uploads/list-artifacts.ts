import { AppError, type ArtifactKind } from '@muster/contracts';
import type { ArtifactEntity, Database } from '@muster/database';
import type { Page } from '@muster/platform';

export type ArtifactRow = Pick<
  ArtifactEntity,
  'id' | 'agentId' | 'jobId' | 'kind' | 'filename' | 'contentType' | 'size' | 'storageKey' | 'createdAt'
>;

const select = `
  SELECT id, agent_id, job_id, kind, filename, content_type, size, storage_key, created_at
  FROM artifact`;

/** Newest first: ids are made in the order of time. */
export function listArtifacts(
  database: Database,
  organizationId: string,
  { page, filter }: { page: Page; filter: { agentId?: string; jobId?: string; kind?: ArtifactKind } },
): Promise<ArtifactRow[]> {
  const { agentId, jobId, kind } = filter;
  return database.query<ArtifactRow>(
    { organizationId },
    `${select}
     WHERE organization_id = $1
       AND ($2::uuid IS NULL OR agent_id = $2) AND ($3::uuid IS NULL OR job_id = $3)
       AND ($4::text IS NULL OR kind = $4) AND ($5::uuid IS NULL OR id < $5)
     ORDER BY id DESC LIMIT $6`,
    [organizationId, agentId ?? null, jobId ?? null, kind ?? null, page.after?.[0] ?? null, page.limit + 1],
  );
}

export async function findArtifact(database: Database, organizationId: string, id: string): Promise<ArtifactRow> {
  const [row] = await database.query<ArtifactRow>(
    { organizationId },
    `${select} WHERE id = $1 AND organization_id = $2`,
    [id, organizationId],
    'find_artifact',
  );
  if (!row) throw new AppError('not_found', { detail: 'There is no such artifact.' });
  return row;
}
