import type { Client } from 'pg';

/** Queries for every column that contains keys of objects in the bucket. A test compares the list with the schema. */
export const objectQueries: Record<string, string> = {
  'artifact.storage_key': 'SELECT storage_key AS key FROM artifact',
  'job.screenshot_key': 'SELECT screenshot_key FROM job WHERE screenshot_key IS NOT NULL',
  'question.screenshot_key': 'SELECT screenshot_key FROM question WHERE screenshot_key IS NOT NULL',
  'feedback_submission.screenshot_key':
    'SELECT screenshot_key FROM feedback_submission WHERE screenshot_key IS NOT NULL',
  'autopilot_attempt.screenshot_key': 'SELECT screenshot_key FROM autopilot_attempt WHERE screenshot_key IS NOT NULL',
  'video_analysis.upload_key': 'SELECT upload_key FROM video_analysis WHERE upload_key IS NOT NULL',
  'video_analysis.frames': `SELECT 'films/' || organization_id || '/' || id || '/' || number || '.jpg'
    FROM video_analysis, generate_series(1, frames) AS number`,
  'film_upload.upload_key': 'SELECT upload_key FROM film_upload',
  'workflow_revision.steps': `SELECT step ->> 'frameKey' FROM workflow_revision, jsonb_array_elements(steps) AS step
    WHERE jsonb_typeof(steps) = 'array' AND step ? 'frameKey'`,
  'workflow_revision.steps.metadata': `SELECT key #>> '{}' FROM workflow_revision,
    jsonb_path_query(steps, '$[*].metadata.screenshots[*]') AS key WHERE jsonb_typeof(key) = 'string'`,
  'pack_upload.upload_key': 'SELECT upload_key FROM pack_upload',
  'pack_bundle.digest': `SELECT 'packs/' || organization_id || '/bundles/' || digest || '.zip' FROM pack_bundle`,
  'runtime_bundle.id': `SELECT 'packs/' || organization_id || '/manifests/' || id || '.json' FROM runtime_bundle`,
};

export async function readObjectKeys(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ key: string }>(`${Object.values(objectQueries).join('\nUNION ')}`);
  return rows.map(({ key }) => key);
}
