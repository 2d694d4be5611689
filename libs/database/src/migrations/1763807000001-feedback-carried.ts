import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The status that was last written to a tracker. A status without an exact equivalent there is not written repeatedly.
 */
export class FeedbackCarried1763807000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE feedback_link ADD COLUMN carried_status text CONSTRAINT feedback_link_carried_check
        CHECK (carried_status IN ('received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected'))
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE feedback_link DROP COLUMN carried_status');
  }
}
