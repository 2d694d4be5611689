import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The time when a model was called for a feedback report. */
export class FeedbackByModel1763812000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE feedback_work_item ADD COLUMN model_asked_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE feedback_work_item DROP COLUMN model_asked_at');
  }
}
