import { AppError, type DownloadTicket, notFoundError } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import { type FindInPacks, findExtension } from './find-extension';

const lifetimeSeconds = 900;

interface PresignParts {
  database: Database;
  storage: ObjectStorage;
  findInPacks: FindInPacks;
}

/**
 * Returns a presigned URL for the file of a deploy_extension command. The URL is signed when the worker requests it, so
 * it is valid even if the command has waited for a long time.
 */
export async function presignExtension(
  { database, storage, findInPacks }: PresignParts,
  { organizationId, agentId, commandId }: { organizationId: string; agentId: string; commandId: string },
  now: Date,
): Promise<DownloadTicket> {
  const [command] = await database.query<Pick<AgentCommandEntity, 'status'> & { version: string; key: string | null }>(
    { organizationId },
    `SELECT status, payload->>'version' AS version, payload->>'key' AS key
     FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = 'deploy_extension'`,
    [commandId, agentId, organizationId],
    'presign_extension',
  );
  if (!command) throw notFoundError('command');
  if (command.status !== 'pending')
    throw new AppError('conflict', {
      detail: 'The command has already ended, so its file cannot be downloaded any more. Ignore the command.',
    });
  const { objectKey, filename, digest } = await findExtension(database, organizationId, command, findInPacks);
  const downloadUrl = await storage
    .presignGet(objectKey, { expiresInSeconds: lifetimeSeconds })
    .catch((cause: unknown) => {
      throw new AppError('service_unavailable', {
        detail: 'The download URL cannot be created now; try again later.',
        cause,
      });
    });
  const expiresAt = new Date(now.getTime() + lifetimeSeconds * 1000).toISOString();
  return { downloadUrl, filename, expiresAt, ...(digest ? { digest } : {}) };
}
