import type { QueryRunner } from 'typeorm';

/** The database roles of the service. Neither owns a table, so row-level security applies to both. */
export const appRole = 'muster_app';
const systemRole = 'muster_system';

/** Creates the roles that do not exist. Several databases of one cluster may do so at the same time. */
export async function createDatabaseRoles(runner: QueryRunner): Promise<void> {
  for (const role of [appRole, systemRole]) {
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
          CREATE ROLE ${role} NOLOGIN;
        END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END $$`);
    // The user that creates a role also needs the right to switch to it (SET ROLE), which since Postgres 16 must be
    // granted separately. A superuser needs no membership. If another user has already granted it, this user may lack
    // the right to grant it again.
    await runner.query(`
      DO $$ BEGIN
        IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
          EXECUTE format('GRANT ${role} TO %I', current_user);
        END IF;
      EXCEPTION WHEN insufficient_privilege THEN NULL;
      END $$`);
    await runner.query(`GRANT USAGE ON SCHEMA public TO ${role}`);
  }
}

interface Access {
  /** Column with the organization of a row; null for a table that only the system role uses. */
  tenantColumn: string | null;
  /** Privileges of a tenant's transactions; all if absent. */
  app?: string;
  system?: string;
}

/**
 * Isolates the organizations of a table in the database, in addition to the filters of the statements. Even if a
 * statement lacks a filter, a tenant's transaction reads and writes only the rows of its own organization, and no rows
 * if no organization is set.
 */
export async function isolateTenantsOfTable(runner: QueryRunner, table: string, access: Access): Promise<void> {
  const { tenantColumn, app = 'SELECT, INSERT, UPDATE, DELETE', system = 'SELECT, INSERT, UPDATE, DELETE' } = access;
  await runner.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await runner.query(`GRANT ${system} ON ${table} TO ${systemRole}`);
  await runner.query(`CREATE POLICY ${table}_system ON ${table} TO ${systemRole} USING (true) WITH CHECK (true)`);
  if (!tenantColumn) return;
  const own = `${tenantColumn} = NULLIF(current_setting('muster.organization_id', true), '')::uuid`;
  await runner.query(`GRANT ${app} ON ${table} TO ${appRole}`);
  await runner.query(`CREATE POLICY ${table}_tenant ON ${table} TO ${appRole} USING (${own}) WITH CHECK (${own})`);
}
