import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A command carries the trace of the request that it comes from, beside its id. */
export class CommandTraces1763781000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_command ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_command DROP COLUMN traceparent');
  }
}
