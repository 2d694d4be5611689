import type { RecordingRow } from '@muster/commands';
import type { Recording } from '@muster/contracts';

export function presentRecording(row: RecordingRow): Recording {
  return {
    id: row.id,
    agentId: row.agentId,
    name: row.name,
    kind: row.kind,
    startUrl: row.startUrl,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    endedAt: row.endedAt?.toISOString() ?? null,
    error: row.error,
    artifactId: row.artifactId,
    eventsArtifactId: row.eventsArtifactId,
    contentType: row.contentType,
    size: row.size,
  };
}
