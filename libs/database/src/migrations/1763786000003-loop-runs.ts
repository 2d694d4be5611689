import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** The last round of each maintenance loop. */
export class LoopRuns1763786000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // eslint-disable-next-line plain/words -- the SQL of an applied migration does not change
    await runner.query(`
      CREATE TABLE loop_run (
        name text PRIMARY KEY,
        app text NOT NULL,
        host text NOT NULL,
        interval_ms bigint NOT NULL,
        began_at timestamptz NOT NULL,
        duration_ms double precision NOT NULL,
        counts jsonb NOT NULL DEFAULT '{}',
        failed integer NOT NULL DEFAULT 0,
        error text,
        -- Rows that it fails to settle, and since when.
        stuck jsonb NOT NULL DEFAULT '[]'
      )`);
    await isolateTenantsOfTable(runner, 'loop_run', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE loop_run');
  }
}
