import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Cost rollups of whole months, computed from those of days. A year of ten thousand machines has a million rows by day.
 */
export class CostMonths1763820000400 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE run_cost_month (
        organization_id uuid NOT NULL CONSTRAINT run_cost_month_organization_fk REFERENCES organization ON DELETE CASCADE,
        grouped_by text NOT NULL,
        month date NOT NULL,
        key text NOT NULL,
        model text,
        runs integer NOT NULL,
        ai_micros bigint NOT NULL,
        compute_micros bigint NOT NULL,
        reported_micros bigint NOT NULL,
        PRIMARY KEY (organization_id, grouped_by, month, key)
      )`);
    await isolateTenantsOfTable(runner, 'run_cost_month', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE run_cost_month');
  }
}
