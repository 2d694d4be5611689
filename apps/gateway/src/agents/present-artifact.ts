import type { ArtifactRow } from '@muster/commands';
import type { Artifact } from '@muster/contracts';

export function presentArtifact(row: ArtifactRow): Artifact {
  const { id, agentId, jobId, kind, filename, contentType, size, createdAt } = row;
  return { id, agentId, jobId, kind, filename, contentType, size, createdAt: createdAt.toISOString() };
}
