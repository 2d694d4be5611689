import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The progress of a reconciliation, the syncs that it waits for, and a number for each attempt to create an item. */
export class FeedbackFences1763807050001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE feedback_reconciliation ADD COLUMN after_id uuid, ADD COLUMN rung_at timestamptz;
      UPDATE feedback_reconciliation SET rung_at = finished_at;
      ALTER TABLE feedback_work_item ADD COLUMN to_compare boolean NOT NULL DEFAULT false;
      CREATE INDEX feedback_work_item_compare_idx ON feedback_work_item (submission_id) WHERE to_compare;
      ALTER TABLE feedback_link ADD COLUMN claim integer NOT NULL DEFAULT 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE feedback_link DROP COLUMN claim;
      DROP INDEX feedback_work_item_compare_idx;
      ALTER TABLE feedback_work_item DROP COLUMN to_compare;
      ALTER TABLE feedback_reconciliation DROP COLUMN rung_at, DROP COLUMN after_id;
    `);
  }
}
