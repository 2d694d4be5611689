import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Limits that an organization sets for concurrency keys, and the keys of a workflow's runs. */
export class ConcurrencyLimits1763832000200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE concurrency_limit (
        organization_id uuid NOT NULL
          CONSTRAINT concurrency_limit_organization_fk REFERENCES organization ON DELETE CASCADE,
        key text NOT NULL,
        "limit" integer NOT NULL CONSTRAINT concurrency_limit_limit_check CHECK ("limit" >= 0),
        PRIMARY KEY (organization_id, key)
      )`);
    await runner.query(`ALTER TABLE workflow ADD concurrency_keys jsonb NOT NULL DEFAULT '[]'`);
    await isolateTenantsOfTable(runner, 'concurrency_limit', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workflow DROP concurrency_keys');
    await runner.query('DROP TABLE concurrency_limit');
  }
}
