import type { MigrationInterface, QueryRunner } from 'typeorm';
import { appRole } from '../transactions/tenant-isolation';

/** A run summary books the cost of its run in its own transaction, which has the scope of the organization. */
export class CostsOfSummaries1763792000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`GRANT INSERT, UPDATE, DELETE ON run_cost_component TO ${appRole}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE INSERT, UPDATE, DELETE ON run_cost_component FROM ${appRole}`);
  }
}
