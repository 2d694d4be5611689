import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index for an agent's runs, latest start first. */
export class RunsByStart1763786000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX job_agent_started_idx ON job (agent_id, started_at, id) WHERE started_at IS NOT NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX job_agent_started_idx');
  }
}
