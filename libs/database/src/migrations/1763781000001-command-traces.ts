import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The trace context of the request that created a command, besides the request's id. */
export class CommandTraces1763781000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_command ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_command DROP COLUMN traceparent');
  }
}
