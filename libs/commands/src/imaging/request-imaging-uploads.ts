import {
  AppError,
  type CommandUploadObject,
  type CommandUploads,
  invalidFieldError,
  notFoundError,
} from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import { newId } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { type CommandRef } from '../ends/receive-result';
import { imagingKinds } from '../command/command-kinds';
import { buildImagingKey, type ImagingCommand } from './imaging-keys';

const maxUploadBytes = 100 * 1024 * 1024;
const lifetimeSeconds = 900;

interface Found extends Pick<AgentCommandEntity, 'status'>, ImagingCommand {
  /** The ordinals of the images that the command names; an upload is allowed only for these. */
  ordinals: number[];
}

/**
 * Returns upload URLs for images of a pending command, so that the worker uploads directly to the object storage. The
 * artifact rows are inserted before the upload. A repeated request returns the same keys, so an interrupted upload can
 * be repeated.
 */
export async function requestImagingUploads(
  database: Database,
  storage: ObjectStorage,
  commandRef: CommandRef,
  objects: CommandUploadObject[],
  now: Date,
): Promise<CommandUploads> {
  const { organizationId, agentId } = commandRef;
  const command = await findImagingCommand(database, commandRef, objects);
  objects.forEach((object, at) => requireObjectOfCommand(command, object, at));
  const tickets = await Promise.all(
    objects.map(async (object) => {
      const { name, ordinal, size } = object;
      const key = buildImagingKey(command, object);
      const contentType = name === 'composite' ? 'image/png' : 'image/jpeg';
      const { url, headers } = await storage.presignPut(key, { contentType, size, expiresInSeconds: lifetimeSeconds });
      return { name, ordinal, key, uploadUrl: url, method: 'PUT' as const, headers, contentType, size };
    }),
  );
  await database.query(
    { organizationId },
    `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
     SELECT o.id, $1, $2, 'image', o.filename, o.content_type, o.size, o.storage_key
     FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[])
       AS o (id, filename, content_type, size, storage_key)
     ON CONFLICT (storage_key) DO UPDATE SET size = excluded.size`,
    [
      organizationId,
      agentId,
      tickets.map(() => newId()),
      tickets.map(({ key }) => key.slice(key.lastIndexOf('/') + 1)),
      tickets.map(({ contentType }) => contentType),
      tickets.map(({ size }) => size),
      tickets.map(({ key }) => key),
    ],
    'insert_imaging_artifacts',
  );
  return {
    uploads: tickets.map(({ contentType: _, size: __, ...ticket }) => ticket),
    expiresAt: new Date(now.getTime() + lifetimeSeconds * 1000).toISOString(),
  };
}

async function findImagingCommand(
  database: Database,
  { organizationId, agentId, commandId }: CommandRef,
  objects: CommandUploadObject[],
): Promise<Found> {
  const [command] = await database.query<Found>(
    { organizationId },
    `SELECT id, organization_id, kind, status, payload->>'patimageid' AS patimageid,
       ARRAY(SELECT (i->>'ordinal')::int FROM jsonb_array_elements(payload->'images') i
             WHERE (i->>'ordinal')::int = ANY($5::int[])) AS ordinals
     FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = ANY($4)`,
    [commandId, agentId, organizationId, imagingKinds, objects.flatMap(({ ordinal }) => ordinal ?? [])],
    'imaging_uploads_of',
  );
  if (!command) throw notFoundError('command');
  if (command.status !== 'pending')
    throw new AppError('conflict', {
      detail: 'The command has already ended, so nothing can be uploaded for it. Do not send the files.',
    });
  return command;
}

function requireObjectOfCommand(command: Found, { name, ordinal, size }: CommandUploadObject, at: number): void {
  if (size > maxUploadBytes) {
    throw new AppError('payload_too_large', { detail: 'An image can have at most 100 MiB. Send a smaller one.' });
  }
  if ((name === 'composite') !== (command.kind === 'imaging_composite')) {
    throw invalidFieldError(`objects.${at}.name`, `objects.${at}.name does not belong to this kind of command`);
  }
  if (name !== 'composite' && !command.ordinals.includes(ordinal ?? -1)) {
    throw invalidFieldError(`objects.${at}.ordinal`, `objects.${at}.ordinal must be one of the command’s images`);
  }
}
