import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The capabilities of an agent's machine, as its worker reported them. */
export class AgentCapabilities1763829600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD COLUMN capabilities jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN capabilities');
  }
}
