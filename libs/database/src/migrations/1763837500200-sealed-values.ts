import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Workflows name sensitive variables and results, whose values are stored encrypted with a key of the organization. */
export class SealedValues1763837500200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE value_key (
        organization_id uuid PRIMARY KEY CONSTRAINT value_key_organization_fk REFERENCES organization ON DELETE CASCADE,
        master_key_id text NOT NULL,
        wrapped_key bytea NOT NULL,
        sealed bytea NOT NULL
      )`);
    await isolateTenantsOfTable(runner, 'value_key', { tenantColumn: 'organization_id' });
    await runner.query(`
      ALTER TABLE workflow ADD COLUMN sensitive_variables text[] NOT NULL DEFAULT '{}',
        ADD COLUMN sensitive_results text[] NOT NULL DEFAULT '{}'`);
    await runner.query('ALTER TABLE job ADD COLUMN sensitive_results text[]');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job DROP COLUMN sensitive_results');
    await runner.query('ALTER TABLE workflow DROP COLUMN sensitive_variables, DROP COLUMN sensitive_results');
    await runner.query('DROP TABLE value_key');
  }
}
