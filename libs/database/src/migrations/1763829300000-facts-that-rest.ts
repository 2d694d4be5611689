import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The retry delay of an event whose resource cannot be read starts at the last attempt, not at the time of the event.
 */
export class FactsThatRest1763829300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_event ADD rests_until timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_event DROP rests_until');
  }
}
