import { setImmediate as turn } from 'node:timers/promises';
import type { ConvertedImage, ImagingImage, ImagingImagesOutput, ImagingImagesStatus } from '@muster/contracts';
import type { AgentCommandEntity, Database } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import type { CommandRef } from '../ends/receive-result';
import { presentCommandStatus, type CommandStatusRow, agentOrCommandNotFoundError } from '../ends/read-command';
import { buildImagingKey, type ImagingCommand } from './imaging-keys';

const lifetimeSeconds = 3600;
/** Number of images whose URLs are signed before the event loop gets a turn. */
const batchSize = 16;

/**
 * A worker's report about one image. The name is taken from the request, and the storage keys from `buildImagingKey`.
 */
interface ImageReport {
  ordinal?: unknown;
  width?: unknown;
  height?: unknown;
  bytes?: unknown;
  error?: unknown;
  code?: unknown;
}

type Row = CommandStatusRow &
  Pick<AgentCommandEntity, 'id' | 'organizationId'> & { patimageid: string; images: ImagingImage[] };

/**
 * Returns the status of a conversion, with URLs for each image. The worker's result contains only ordinals and numbers,
 * so that the output of a command has room for 4,000 images.
 */
export async function readImagesStatus(
  database: Database,
  storage: ObjectStorage,
  commandRef: CommandRef,
): Promise<ImagingImagesStatus> {
  const { organizationId, agentId, commandId } = commandRef;
  const [row] = await database.query<Row>(
    { organizationId },
    `SELECT id, organization_id, status, output, error, error_code, payload->>'patimageid' AS patimageid,
       CASE WHEN status = 'pending' THEN '[]' ELSE payload->'images' END AS images
     FROM agent_command
     WHERE id = $1 AND agent_id = $2 AND organization_id = $3 AND kind = 'imaging_images'`,
    [commandId, agentId, organizationId],
    'images_status',
  );
  if (!row) throw await agentOrCommandNotFoundError(database, organizationId, agentId);
  const { output: _, ...status } = presentCommandStatus(row);
  const reports = row.output === null ? null : parseImageReports(row.output);
  return { ...status, ...(reports ? { output: await presentImagesOutput(storage, row, reports) } : {}) };
}

function parseImageReports(output: string): Map<number, ImageReport> | null {
  try {
    const { images } = JSON.parse(output) as { images?: unknown };
    if (!Array.isArray(images)) return null;
    return new Map((images as ImageReport[]).map((image) => [Number(image?.ordinal), image]));
  } catch {
    return null;
  }
}

async function presentImagesOutput(
  storage: ObjectStorage,
  row: Row,
  reports: Map<number, ImageReport>,
): Promise<ImagingImagesOutput> {
  const command: ImagingCommand = { ...row, kind: 'imaging_images' };
  const images: ConvertedImage[] = [];
  for (let at = 0; at < row.images.length; at += batchSize) {
    const some = row.images.slice(at, at + batchSize);
    images.push(
      ...(await Promise.all(
        some.map((image) => presentConvertedImage(storage, command, image, reports.get(image.ordinal))),
      )),
    );
    await turn();
  }
  const converted = images.filter(({ fullKey }) => fullKey !== null).length;
  return { patimageid: Number(row.patimageid), images, converted, failed: images.length - converted };
}

async function presentConvertedImage(
  storage: ObjectStorage,
  command: ImagingCommand,
  { ordinal, filename }: ImagingImage,
  report: ImageReport | undefined,
): Promise<ConvertedImage> {
  const [width, height, bytes] = [report?.width, report?.height, report?.bytes].map(positiveIntegerOrNull);
  if (!width || !height || !bytes || report?.error !== undefined) {
    const nothing = { fullKey: null, thumbnailKey: null, fullUrl: null, thumbnailUrl: null };
    const failure = {
      error: textOrNull(report?.error) ?? 'the worker did not report this image',
      code: textOrNull(report?.code) ?? 'damaged',
    };
    return { ordinal, filename, ...nothing, width: null, height: null, bytes: null, ...failure };
  }
  const fullKey = buildImagingKey(command, { name: 'full', ordinal });
  const thumbnailKey = buildImagingKey(command, { name: 'thumbnail', ordinal });
  const [fullUrl, thumbnailUrl] = await Promise.all([
    presignStoredImage(storage, fullKey),
    presignStoredImage(storage, thumbnailKey),
  ]);
  return { ordinal, filename, fullKey, thumbnailKey, fullUrl, thumbnailUrl, width, height, bytes };
}

function presignStoredImage(storage: ObjectStorage, key: string): Promise<string | null> {
  const options = { contentType: 'image/jpeg', expiresInSeconds: lifetimeSeconds };
  return storage.presignGet(key, options).catch(() => null);
}

function positiveIntegerOrNull(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value ? value.slice(0, 1000) : null;
}
