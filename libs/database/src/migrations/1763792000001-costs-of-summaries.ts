import type { MigrationInterface, QueryRunner } from 'typeorm';
import { appRole } from '../transactions/tenant-isolation';

/** A run summary settles its run's cost in its own transaction, which is its organization's. */
export class CostsOfSummaries1763792000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`GRANT INSERT, UPDATE, DELETE ON run_cost_component TO ${appRole}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE INSERT, UPDATE, DELETE ON run_cost_component FROM ${appRole}`);
  }
}
