import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes on the age of sessions, chats and videos, for their retention. */
export class AssistantRetention1763820000101 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX artifact_session_idx ON artifact (organization_id, created_at)
        WHERE filename LIKE 'session-%' AND job_id IS NULL;
      CREATE INDEX chat_session_age_idx ON chat_session (organization_id, updated_at);
      DROP INDEX chat_session_organization_idx;
      CREATE INDEX video_analysis_age_idx ON video_analysis (organization_id, created_at);
      CREATE INDEX film_upload_age_idx ON film_upload (organization_id, created_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX chat_session_organization_idx ON chat_session (organization_id);
      DROP INDEX artifact_session_idx, chat_session_age_idx, video_analysis_age_idx, film_upload_age_idx`);
  }
}
