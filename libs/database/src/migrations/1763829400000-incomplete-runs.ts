import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Reports of a run that were refused permanently are recorded on its job. */
export class IncompleteRuns1763829400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE job ADD COLUMN incomplete jsonb NOT NULL DEFAULT '[]'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job DROP COLUMN incomplete');
  }
}
