import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which status was carried to a tracker last: what it has no better word for is not sent again and again. */
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
