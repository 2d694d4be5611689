import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const tables = ['run_cost_change', 'run_cost_state', 'run_cost_day'];

/**
 * Rollups for `GET /api/costs`: totals by day and group, and the runs whose costs were booked since the last refresh.
 */
export class CostRollups1763802000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE run_cost_change (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        organization_id uuid NOT NULL CONSTRAINT run_cost_change_organization_fk REFERENCES organization ON DELETE CASCADE,
        finished_at timestamptz NOT NULL
      );
      CREATE INDEX run_cost_change_organization_idx ON run_cost_change (organization_id, id);
      CREATE TABLE run_cost_state (
        organization_id uuid PRIMARY KEY CONSTRAINT run_cost_state_organization_fk REFERENCES organization ON DELETE CASCADE,
        timezone text NOT NULL
      );
      CREATE TABLE run_cost_day (
        organization_id uuid NOT NULL CONSTRAINT run_cost_day_organization_fk REFERENCES organization ON DELETE CASCADE,
        grouped_by text NOT NULL,
        day date NOT NULL,
        key text NOT NULL,
        model text,
        runs integer NOT NULL,
        ai_micros bigint NOT NULL,
        compute_micros bigint NOT NULL,
        reported_micros bigint NOT NULL,
        PRIMARY KEY (organization_id, grouped_by, day, key)
      )`);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables.toReversed()) await runner.query(`DROP TABLE ${table}`);
  }
}
