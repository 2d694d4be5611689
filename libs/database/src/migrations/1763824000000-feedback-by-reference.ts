import type { MigrationInterface, QueryRunner } from 'typeorm';

const uniqueReferenceIndexSql = (where: string) => `
  DROP INDEX feedback_link_external_key;
  CREATE UNIQUE INDEX feedback_link_external_key ON feedback_link (tracker, scope, external_id) WHERE ${where}`;

/**
 * A tracker webhook finds its work item by the id of the issue or task alone. An unlinked issue or task may be linked
 * again to another work item.
 */
export class FeedbackByReference1763824000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX feedback_link_external_idx ON feedback_link (external_id) WHERE external_id IS NOT NULL',
    );
    await runner.query(uniqueReferenceIndexSql('external_id IS NOT NULL AND unlinked_at IS NULL'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(uniqueReferenceIndexSql('external_id IS NOT NULL'));
    await runner.query('DROP INDEX feedback_link_external_idx');
  }
}
