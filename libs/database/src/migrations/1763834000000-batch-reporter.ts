import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The agent whose key reported a batch. Older batches have none, so only organization keys and sessions can replace
 * them.
 */
export class BatchReporter1763834000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE pilot_batch ADD COLUMN reporter_agent_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE pilot_batch DROP COLUMN reporter_agent_id');
  }
}
