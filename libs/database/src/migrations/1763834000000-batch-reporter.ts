import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which agent's key reported a batch. A batch of before has none, so only organization keys and sessions replace it. */
export class BatchReporter1763834000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE pilot_batch ADD COLUMN reporter_agent_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE pilot_batch DROP COLUMN reporter_agent_id');
  }
}
