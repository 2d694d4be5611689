import { notFoundError, type RecordingQuery } from '@muster/contracts';
import {
  type ArtifactEntity,
  type Database,
  containsIgnoringCaseSql,
  type RecordingEntity,
  scanRowsSql,
} from '@muster/database';
import type { Page } from '@muster/platform';
import { findAgent } from '@muster/machines';

export interface RecordingRow extends Pick<
  RecordingEntity,
  | 'id'
  | 'agentId'
  | 'name'
  | 'kind'
  | 'startUrl'
  | 'status'
  | 'createdAt'
  | 'startedAt'
  | 'endedAt'
  | 'error'
  | 'artifactId'
  | 'eventsArtifactId'
> {
  contentType: ArtifactEntity['contentType'] | null;
  size: ArtifactEntity['size'] | null;
  storageKey: ArtifactEntity['storageKey'] | null;
  eventsSize: ArtifactEntity['size'] | null;
  eventsKey: ArtifactEntity['storageKey'] | null;
}

const select = `
  SELECT r.id, r.agent_id, r.name, r.kind, r.start_url, r.status, r.created_at, r.started_at, r.ended_at, r.error,
         r.artifact_id, f.content_type, f.size, f.storage_key, r.events_artifact_id, e.size AS events_size,
         e.storage_key AS events_key
  FROM recording r LEFT JOIN artifact f ON f.id = r.artifact_id LEFT JOIN artifact e ON e.id = r.events_artifact_id`;

/** Lists recordings, newest first, because ids increase with time. */
export async function listRecordings(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { page, filter: { status, q } }: { page: Page; filter: RecordingQuery },
): Promise<RecordingRow[]> {
  const values: unknown[] = [organizationId, agentId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1', 'agent_id = $2'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  const looked = status ? [`status = ${addParameter(status)}`] : [];
  if (q) {
    const text = addParameter(q);
    const texts = `concat_ws(chr(10), name, start_url, error)`;
    looked.push(`(${containsIgnoringCaseSql(texts, text)} OR id::text = lower(${text}))`);
  }
  const limit = addParameter(page.limit + 1);
  const listed = scanRowsSql({ from: 'recording', columns: 'id', within, filter: looked, order: 'id DESC', limit });
  const rows = await database.query<RecordingRow>(
    { organizationId },
    `SELECT r.*, p.matches, p.scan_end FROM (${listed}) p JOIN (${select}) r ON r.id = p.id ORDER BY r.id DESC`,
    values,
  );
  if (rows.length === 0) await findAgent(database, organizationId, agentId);
  return rows;
}

export async function findRecording(database: Database, organizationId: string, id: string): Promise<RecordingRow> {
  const [row] = await database.query<RecordingRow>(
    { organizationId },
    `${select} WHERE r.id = $1 AND r.organization_id = $2`,
    [id, organizationId],
    'find_recording',
  );
  if (!row) throw notFoundError('recording');
  return row;
}
