import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Single sign-on: the provider of each organization, its email domains, and the sign-ins in progress. */
export class SingleSignOn1763837100100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE organization_sso (
        organization_id uuid PRIMARY KEY
          CONSTRAINT organization_sso_organization_fk REFERENCES organization ON DELETE CASCADE,
        issuer text NOT NULL,
        client_id text NOT NULL,
        master_key_id text NOT NULL,
        wrapped_key bytea NOT NULL,
        sealed bytea NOT NULL,
        domains text[] NOT NULL,
        role_claim text,
        role_map jsonb,
        enforced boolean NOT NULL
      );
      CREATE TABLE organization_domain (
        organization_id uuid NOT NULL
          CONSTRAINT organization_domain_organization_fk REFERENCES organization ON DELETE CASCADE,
        domain text NOT NULL,
        token text NOT NULL,
        proved_at timestamptz,
        proved_by text CONSTRAINT organization_domain_proved_by_check CHECK (proved_by IN ('dns', 'super_admin')),
        PRIMARY KEY (organization_id, domain)
      );
      CREATE UNIQUE INDEX organization_domain_proved_key ON organization_domain (domain) WHERE proved_at IS NOT NULL;
      CREATE TABLE sso_sign_in (
        state_hash text PRIMARY KEY,
        browser_hash text NOT NULL,
        organization_id uuid NOT NULL CONSTRAINT sso_sign_in_organization_fk REFERENCES organization ON DELETE CASCADE,
        issuer text NOT NULL,
        redirect_uri text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sso_sign_in_expires_idx ON sso_sign_in (expires_at);
    `);
    for (const table of ['organization_sso', 'organization_domain', 'sso_sign_in'])
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    await runner.query('ALTER TABLE app_user ADD COLUMN break_glass boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE app_user DROP COLUMN break_glass');
    await runner.query('DROP TABLE sso_sign_in, organization_domain, organization_sso');
  }
}
