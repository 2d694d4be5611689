import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A fact whose thing cannot be read rests from its last try on, and not from when it happened. */
export class FactsThatRest1763829300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_event ADD rests_until timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_event DROP rests_until');
  }
}
