import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an agent's machine has, as its worker said. */
export class AgentCapabilities1763829600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD COLUMN capabilities jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN capabilities');
  }
}
