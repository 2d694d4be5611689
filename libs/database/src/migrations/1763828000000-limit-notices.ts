import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Notices of monthly limits: one when a limit is near, and one when it is reached. */
export class LimitNotices1763828000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE limit_notice (
        organization_id uuid NOT NULL
          CONSTRAINT limit_notice_organization_fk REFERENCES organization ON DELETE CASCADE,
        month date NOT NULL,
        limit_name text NOT NULL,
        level text NOT NULL CONSTRAINT limit_notice_level_check CHECK (level IN ('near', 'reached')),
        max bigint NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (organization_id, month, limit_name, level, max)
      )`);
    await isolateTenantsOfTable(runner, 'limit_notice', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE limit_notice');
  }
}
