import { AppError, type ArtifactKind, agentNotFoundError, type UploadBody, type UploadTicket } from '@muster/contracts';
import type { Database } from '@muster/database';
import { newId } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';

const maxUploadBytes = 100 * 1024 * 1024;
const lifetimeSeconds = 900;

/**
 * Returns an upload URL for one file, so that the worker uploads directly to the object storage. The artifact row is
 * inserted before the upload.
 */
export async function requestUpload(
  database: Database,
  storage: ObjectStorage,
  agentRef: { organizationId: string; agentId: string },
  { jobId, filename, contentType, size }: UploadBody,
  now: Date,
): Promise<UploadTicket> {
  if (size > maxUploadBytes) {
    throw new AppError('payload_too_large', { detail: 'A file can have at most 100 MiB. Send a smaller one.' });
  }
  const { organizationId, agentId } = agentRef;
  const id = newId();
  const key = `artifacts/${organizationId}/${jobId ?? agentId}/${id}-${toSafeFileName(filename)}`;
  await requireJobOfAgent(database, agentRef, jobId ?? null);
  const { url, headers } = await storage.presignPut(key, { contentType, size, expiresInSeconds: lifetimeSeconds });
  await database.query(
    { organizationId },
    `INSERT INTO artifact (id, organization_id, agent_id, job_id, kind, filename, content_type, size, storage_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, organizationId, agentId, jobId ?? null, getArtifactKind(contentType), filename, contentType, size, key],
    'insert_artifact',
  );
  const expiresAt = new Date(now.getTime() + lifetimeSeconds * 1000).toISOString();
  return { key, uploadUrl: url, method: 'PUT', headers, expiresAt };
}

async function requireJobOfAgent(
  database: Database,
  { organizationId, agentId }: { organizationId: string; agentId: string },
  jobId: string | null,
): Promise<void> {
  const [agent] = await database.query<{ hasJob: boolean }>(
    { organizationId },
    `SELECT $3::uuid IS NULL
         OR EXISTS (SELECT FROM job j WHERE j.id = $3 AND j.agent_id = a.id AND j.organization_id = $2) AS has_job
     FROM agent a WHERE a.id = $1 AND a.organization_id = $2 AND a.status <> 'terminated'`,
    [agentId, organizationId, jobId],
    'upload_owner',
  );
  if (!agent) throw agentNotFoundError();
  if (!agent.hasJob)
    throw new AppError('not_found', {
      detail: 'The agent has no job with this id. List the jobs of the agent to find the id.',
    });
}

/** Returns the file name in a form that is one segment of a storage key and needs no escaping. */
export function toSafeFileName(filename: string): string {
  const plain = filename.normalize('NFKD').replaceAll(/[^A-Za-z0-9._-]+/g, '_');
  return plain.replace(/^[._]+/, '').slice(-100) || 'file';
}

function getArtifactKind(contentType: string): ArtifactKind {
  if (contentType.startsWith('image/')) return 'image';
  return contentType.startsWith('video/') ? 'video' : 'file';
}
