import type { RecordingStatus } from '@muster/contracts';
import type { ArtifactEntity, Database, RecordingEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { findAgent } from '../registry/agent-row';
import { noSuchRecording } from './ask-recording';

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

/** Newest first: ids are made in the order of time. */
export async function listRecordings(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  { page, status }: { page: Page; status?: RecordingStatus },
): Promise<RecordingRow[]> {
  const rows = await database.query<RecordingRow>(
    { organizationId },
    `${select}
     WHERE r.agent_id = $1 AND r.organization_id = $2
       AND ($3::text IS NULL OR r.status = $3) AND ($4::uuid IS NULL OR r.id < $4)
     ORDER BY r.id DESC LIMIT $5`,
    [agentId, organizationId, status ?? null, page.after?.[0] ?? null, page.limit + 1],
    'list_recordings',
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
  if (!row) throw noSuchRecording();
  return row;
}
