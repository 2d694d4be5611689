import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The budget of a run, and the amount that it reserves from the organization's limit until its cost is known. */
export class Budgets1763794000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE workflow ADD COLUMN max_cost_micros bigint;
      ALTER TABLE schedule ADD COLUMN max_cost_micros bigint;
      ALTER TABLE job ADD COLUMN max_cost_micros bigint, ADD COLUMN reserved_micros bigint NOT NULL DEFAULT 0;
      CREATE INDEX job_open_idx ON job (organization_id, reserved_micros)
        WHERE status IN ('queued', 'running') OR reserved_micros > 0;
      CREATE INDEX job_budget_idx ON job (id) WHERE status = 'running' AND max_cost_micros IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE job DROP COLUMN max_cost_micros, DROP COLUMN reserved_micros;
      ALTER TABLE schedule DROP COLUMN max_cost_micros;
      ALTER TABLE workflow DROP COLUMN max_cost_micros;
    `);
  }
}
