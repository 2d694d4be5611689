/**
 * SQL statements that insert feedback and packs: one submission for every ten runs, and packs with one version and one
 * installation each.
 */
export const feedbackAndPacksSql = (idSql: (at: string, salt: string) => string) => [
  `INSERT INTO feedback_submission (id, organization_id, type, status, title, description, reporter_id, created_at, updated_at)
   SELECT id, '{organization}', CASE WHEN n <= 30 THEN 'bug_report' ELSE 'feature_request' END,
          CASE WHEN n <= 60 THEN 'received' ELSE 'closed' END, 'Report ' || n, 'It was slow.',
          CASE WHEN n <= 90 THEN 'rare person' ELSE 'usual person' END, at, at
   FROM house_job WHERE n % 10 = 0`,
  `INSERT INTO feedback_work_item (submission_id, organization_id, due_at)
   SELECT id, organization_id, NULL FROM feedback_submission WHERE organization_id = '{organization}'`,
  `INSERT INTO feedback_link (id, submission_id, organization_id, tracker, scope, external_id, external_url)
   SELECT md5(submission_id || tracker)::uuid, submission_id, organization_id, tracker, 'house', submission_id::text,
          'https://tracker.example/' || submission_id
   FROM feedback_work_item, unnest(ARRAY['codehost', 'tasktracker']) tracker WHERE organization_id = '{organization}'`,
  `INSERT INTO library_process (organization_id, worker_key, name, created_at, updated_at)
   SELECT '{organization}', CASE n WHEN 1 THEN 'usual' WHEN 2 THEN 'rare' ELSE 'process-' || n END, 'Process ' || n, at, at
   FROM house_batch`,
  `INSERT INTO workflow_pack (id, organization_id, worker_key, name, created_at, updated_at)
   SELECT ${idSql('at', `'pack' || n`)}, '{organization}', 'pack-' || n, 'Pack ' || n, at, at FROM house_batch`,
  `INSERT INTO pack_bundle (organization_id, digest, size)
   SELECT '{organization}', md5('{organization}' || n), 1000 FROM house_batch`,
  `INSERT INTO runtime_bundle (id, organization_id, pack_id, digest, file_count, unpacked_size, created_by, created_at, stored_at)
   SELECT ${idSql('at', `'bundle' || n`)}, '{organization}', ${idSql('at', `'pack' || n`)}, md5('{organization}' || n), 1, 1000,
          'house', at, at
   FROM house_batch`,
  `INSERT INTO pack_version (id, organization_id, pack_id, number, stage, runtime_bundle_id, created_by, created_at)
   SELECT ${idSql('at', `'version' || n`)}, '{organization}', ${idSql('at', `'pack' || n`)}, 1, 'production',
          ${idSql('at', `'bundle' || n`)}, 'house', at
   FROM house_batch`,
  `INSERT INTO pack_installation (id, organization_id, pack_id, name, pinned_version_id, created_at, updated_at)
   SELECT ${idSql('at', `'installation' || n`)}, '{organization}', ${idSql('at', `'pack' || n`)}, 'Installation ' || n,
          ${idSql('at', `'version' || n`)}, at, at
   FROM house_batch`,
];
