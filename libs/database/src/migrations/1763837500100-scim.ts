import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Users and groups that an identity provider manages with SCIM, and the token of each organization for it. */
export class Scim1763837500100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE scim_token (
        organization_id uuid PRIMARY KEY CONSTRAINT scim_token_organization_fk REFERENCES organization ON DELETE CASCADE,
        secret_hash text NOT NULL,
        permissions text[],
        created_at timestamptz NOT NULL,
        last_used_at timestamptz
      );
      CREATE TABLE scim_user (
        user_id uuid PRIMARY KEY CONSTRAINT scim_user_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL CONSTRAINT scim_user_organization_fk REFERENCES organization ON DELETE CASCADE,
        external_id text,
        display_name text,
        given_name text,
        family_name text,
        deleted_at timestamptz,
        updated_at timestamptz NOT NULL
      );
      CREATE INDEX scim_user_external_id_idx ON scim_user (organization_id, external_id);
      CREATE TABLE scim_group (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT scim_group_organization_fk REFERENCES organization ON DELETE CASCADE,
        display_name text NOT NULL,
        external_id text,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL
      );
      CREATE UNIQUE INDEX scim_group_name_key ON scim_group (organization_id, lower(display_name));
      CREATE TABLE scim_group_member (
        group_id uuid NOT NULL CONSTRAINT scim_group_member_group_fk REFERENCES scim_group ON DELETE CASCADE,
        user_id uuid NOT NULL CONSTRAINT scim_group_member_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL
          CONSTRAINT scim_group_member_organization_fk REFERENCES organization ON DELETE CASCADE,
        PRIMARY KEY (group_id, user_id)
      );
      CREATE INDEX scim_group_member_user_idx ON scim_group_member (user_id);
    `);
    for (const table of ['scim_token', 'scim_user', 'scim_group', 'scim_group_member'])
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE scim_group_member, scim_group, scim_user, scim_token');
  }
}
