import type { RecordingRow } from '@muster/agents';
import type { Recording } from '@muster/contracts';

export function presentRecording(row: RecordingRow): Recording {
  return {
    id: row.id,
    agentId: row.agentId,
    name: row.name,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    endedAt: row.endedAt?.toISOString() ?? null,
    error: row.error,
    artifactId: row.artifactId,
    contentType: row.contentType,
    size: row.size,
  };
}
