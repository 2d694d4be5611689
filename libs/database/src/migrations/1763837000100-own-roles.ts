import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const builtIn = "role IN ('viewer', 'member', 'admin', 'super_admin')";

/** Roles that organizations make themselves. A user then has one of the four roles, or the name of an own role. */
export class OwnRoles1763837000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE own_role (
        organization_id uuid NOT NULL CONSTRAINT own_role_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        permissions text[] NOT NULL,
        created_at timestamptz NOT NULL DEFAULT muster_now(),
        updated_at timestamptz NOT NULL DEFAULT muster_now(),
        PRIMARY KEY (organization_id, name)
      );
      CREATE UNIQUE INDEX own_role_name_key ON own_role (organization_id, lower(name));
    `);
    await isolateTenantsOfTable(runner, 'own_role', { tenantColumn: 'organization_id' });
    await runner.query('ALTER TABLE app_user DROP CONSTRAINT app_user_role_check');
  }

  async down(runner: QueryRunner): Promise<void> {
    // Even the smallest of the four roles can permit more than an own role did. Therefore an admin has to decide.
    await runner.query(`UPDATE app_user SET role = 'viewer', disabled = true WHERE NOT (${builtIn})`);
    await runner.query(`DELETE FROM account_link WHERE NOT (${builtIn})`);
    await runner.query(`ALTER TABLE app_user ADD CONSTRAINT app_user_role_check CHECK (${builtIn})`);
    await runner.query('DROP TABLE own_role');
  }
}
