import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Comparisons of the monthly counters with the events that they count: one each night, and those that were requested.
 */
export class UsageReconciliation1763791000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE usage_reconciliation (
        id uuid PRIMARY KEY,
        night date,
        began_at timestamptz NOT NULL,
        finished_at timestamptz,
        organizations integer NOT NULL DEFAULT 0,
        differing integer NOT NULL DEFAULT 0,
        differences jsonb NOT NULL DEFAULT '[]'
      );
      CREATE UNIQUE INDEX usage_reconciliation_night_key ON usage_reconciliation (night);
      CREATE INDEX usage_reconciliation_finished_idx ON usage_reconciliation (finished_at)`);
    await isolateTenantsOfTable(runner, 'usage_reconciliation', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage_reconciliation');
  }
}
