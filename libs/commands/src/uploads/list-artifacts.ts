import { type ArtifactKind, notFoundError } from '@muster/contracts';
import { type ArtifactEntity, type Database, scanRowsSql } from '@muster/database';
import type { Page } from '@muster/platform';

export type ArtifactRow = Pick<
  ArtifactEntity,
  'id' | 'agentId' | 'jobId' | 'kind' | 'filename' | 'contentType' | 'size' | 'storageKey' | 'createdAt'
>;

const columns = 'id, agent_id, job_id, kind, filename, content_type, size, storage_key, created_at';

/** Lists artifacts, newest first, because ids increase with time. */
export function listArtifacts(
  database: Database,
  organizationId: string,
  { page, filter }: { page: Page; filter: { agentId?: string; jobId?: string; kind?: ArtifactKind } },
): Promise<ArtifactRow[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  const { agentId, jobId, kind } = filter;
  // The first condition is the most selective. It selects a range of an index, within which the other conditions
  // filter.
  const [first, ...others] = [
    jobId && `job_id = ${addParameter(jobId)}`,
    agentId && `agent_id = ${addParameter(agentId)}`,
    kind && `kind = ${addParameter(kind)}`,
  ].filter((condition) => condition !== undefined);
  if (first) within.push(first);
  const limit = addParameter(page.limit + 1);
  const text = scanRowsSql({ from: 'artifact', columns, within, filter: others, order: 'id DESC', limit });
  return database.query<ArtifactRow>({ organizationId }, text, values);
}

export async function findArtifact(database: Database, organizationId: string, id: string): Promise<ArtifactRow> {
  const [row] = await database.query<ArtifactRow>(
    { organizationId },
    `SELECT ${columns} FROM artifact WHERE id = $1 AND organization_id = $2`,
    [id, organizationId],
    'find_artifact',
  );
  if (!row) throw notFoundError('artifact');
  return row;
}
