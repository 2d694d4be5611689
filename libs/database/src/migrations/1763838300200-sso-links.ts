import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Accounts are linked to the subjects of a provider, which must authenticate users as the organization requires. */
export class SsoLinks1763838300200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sso_link (
        organization_id uuid NOT NULL CONSTRAINT sso_link_organization_fk REFERENCES organization ON DELETE CASCADE,
        issuer text NOT NULL,
        client_id text NOT NULL,
        subject text NOT NULL,
        user_id uuid NOT NULL CONSTRAINT sso_link_user_fk REFERENCES app_user ON DELETE CASCADE,
        PRIMARY KEY (organization_id, issuer, client_id, subject)
      );
      CREATE UNIQUE INDEX sso_link_user_key ON sso_link (user_id, issuer, client_id);
    `);
    await isolateTenantsOfTable(runner, 'sso_link', { tenantColumn: 'organization_id' });
    await runner.query(`
      ALTER TABLE organization_sso ADD COLUMN required_acr text[] NOT NULL DEFAULT '{}',
        ADD COLUMN required_amr text[] NOT NULL DEFAULT '{}',
        ADD COLUMN max_age_seconds integer`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE organization_sso DROP COLUMN max_age_seconds, DROP COLUMN required_amr, DROP COLUMN required_acr',
    );
    await runner.query('DROP TABLE sso_link');
  }
}
