import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the filters of the feedback list. */
export class FeedbackByIndex1763807050000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX feedback_submission_status_idx ON feedback_submission (organization_id, status, id);
      CREATE INDEX feedback_submission_type_idx ON feedback_submission (organization_id, type, id);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX feedback_submission_type_idx, feedback_submission_status_idx');
  }
}
