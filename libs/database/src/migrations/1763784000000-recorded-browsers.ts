import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Browser recordings: the recorded steps, with or without a video. */
export class RecordedBrowsers1763784000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE recording
        ADD COLUMN kind text CONSTRAINT recording_kind_check CHECK (kind IN ('screen', 'browser')),
        ADD COLUMN start_url text,
        ADD COLUMN events_artifact_id uuid CONSTRAINT recording_events_artifact_fk REFERENCES artifact ON DELETE SET NULL;
      CREATE INDEX recording_events_artifact_idx ON recording (events_artifact_id) WHERE events_artifact_id IS NOT NULL;
      UPDATE recording SET kind = 'screen' WHERE artifact_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording DROP COLUMN events_artifact_id, DROP COLUMN start_url, DROP COLUMN kind');
  }
}
