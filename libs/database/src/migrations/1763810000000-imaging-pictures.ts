import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index on the images of imaging commands by age, for their retention. */
export class ImagingPictures1763810000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX artifact_imaging_idx ON artifact (organization_id, created_at)
        WHERE storage_key LIKE 'imaging/%'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX artifact_imaging_idx');
  }
}
