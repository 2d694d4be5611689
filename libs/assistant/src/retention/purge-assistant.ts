import { purgeByRetention } from '@muster/access';
import type { Database, FilmUploadEntity, VideoAnalysisEntity } from '@muster/database';
import type { Round } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { buildFrameKey } from '../films/analysis-row';

const rowBatchSize = 100;

interface Parts {
  database: Database;
  storage: ObjectStorage;
}

/**
 * Deletes what is older than the organization's logRetentionDays: sessions with their steps and events, chats, video
 * analyses with their frames, and uploaded videos. Lessons and the workflows that resulted from sessions stay.
 */
export async function purgeAssistantData(
  parts: Parts,
  round: Round,
  now: Date,
): Promise<{ sessions: number; chats: number; films: number; uploads: number }> {
  const purgeRows = async (name: string, drop: Drop) => {
    const purgeBefore = (organizationId: string, before: Date) => drop(parts, organizationId, before);
    const { purged } = await purgeByRetention(parts.database, round, {
      name,
      keptFor: 'logRetentionDays',
      now,
      step: purgeBefore,
    });
    return purged;
  };
  return {
    sessions: await purgeRows('autopilot sessions', deleteOldSessions),
    chats: await purgeRows('chats', deleteOldChats),
    films: await purgeRows('films', deleteOldVideos),
    uploads: await purgeRows('uploaded films', deleteOldUploads),
  };
}

/**
 * Deletes a batch of rows that are older than a time. Returns their number. Stored objects are deleted before their
 * rows. If the process dies in between, a later call finds the row, but it could not find an object without a row.
 */
type Drop = (parts: Parts, organizationId: string, before: Date) => Promise<number>;

/** Deletes old sessions. Their steps, attempts and events are deleted with them. */
const deleteOldSessions: Drop = ({ database }, organizationId, before) =>
  database.transaction('system', (tx) =>
    tx.execute(
      `DELETE FROM autopilot_session WHERE organization_id = $1 AND id IN (
         SELECT id FROM autopilot_session WHERE organization_id = $1 AND finished_at < $2
         ORDER BY finished_at LIMIT $3)`,
      [organizationId, before, rowBatchSize],
      'purge_autopilot_sessions',
    ),
  );

/** Deletes chats whose last message is old. Their turns and calls are deleted with them. */
const deleteOldChats: Drop = ({ database }, organizationId, before) =>
  database.transaction('system', (tx) =>
    tx.execute(
      `DELETE FROM chat_session WHERE organization_id = $1 AND id IN (
         SELECT id FROM chat_session WHERE organization_id = $1 AND updated_at < $2 ORDER BY updated_at LIMIT $3)`,
      [organizationId, before, rowBatchSize],
      'purge_chats',
    ),
  );

const deleteOldVideos: Drop = async ({ database, storage }, organizationId, before) => {
  const old = await database.query<Pick<VideoAnalysisEntity, 'id' | 'frames'>>(
    'system',
    `SELECT id, frames FROM video_analysis
     WHERE organization_id = $1 AND created_at < $2 AND due_at IS NULL ORDER BY created_at LIMIT $3`,
    [organizationId, before, rowBatchSize],
    'old_films',
  );
  const frames = old.flatMap(({ id, frames: count }) =>
    Array.from({ length: count }, (_, at) => buildFrameKey({ organizationId, id }, at + 1)),
  );
  await storage.deleteAll(frames);
  await database.query(
    'system',
    'DELETE FROM video_analysis WHERE id = ANY($1) AND organization_id = $2',
    [old.map(({ id }) => id), organizationId],
    'purge_films',
  );
  return old.length;
};

const deleteOldUploads: Drop = async ({ database, storage }, organizationId, before) => {
  const old = await database.query<Pick<FilmUploadEntity, 'uploadKey'>>(
    'system',
    'SELECT upload_key FROM film_upload WHERE organization_id = $1 AND created_at < $2 ORDER BY created_at LIMIT $3',
    [organizationId, before, rowBatchSize],
    'old_film_uploads',
  );
  const keys = old.map(({ uploadKey }) => uploadKey);
  await storage.deleteAll(keys);
  await database.query(
    'system',
    'DELETE FROM film_upload WHERE upload_key = ANY($1) AND organization_id = $2',
    [keys, organizationId],
    'purge_film_uploads',
  );
  return old.length;
};
