import type { QueryRunner } from 'typeorm';

/** The roles that the service acts as. Neither owns a table, so row-level security binds both. */
export const appRole = 'muster_app';
const systemRole = 'muster_system';

/** Makes the roles where they are missing; several databases of one cluster may do so at the same moment. */
export async function createRoles(runner: QueryRunner): Promise<void> {
  for (const role of [appRole, systemRole]) {
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
          CREATE ROLE ${role} NOLOGIN;
        END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END $$`);
    // Having made a role is not enough to act as it: from Postgres 16 its maker is a member without SET. A superuser
    // needs no membership, and another one may have granted it already without leaving us the right to do so again.
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
  /** The column that says whose row it is; null for a table that only the system touches. */
  tenantColumn: string | null;
  /** What a tenant's transaction may do; everything unless said. */
  app?: string;
  system?: string;
}

/**
 * The second line of tenant isolation: whatever a statement forgets to filter, a tenant's transaction sees and writes
 * its own organization's rows alone, and without an organization set none.
 */
export async function isolate(runner: QueryRunner, table: string, access: Access): Promise<void> {
  const { tenantColumn, app = 'SELECT, INSERT, UPDATE, DELETE', system = 'SELECT, INSERT, UPDATE, DELETE' } = access;
  await runner.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await runner.query(`GRANT ${system} ON ${table} TO ${systemRole}`);
  await runner.query(`CREATE POLICY ${table}_system ON ${table} TO ${systemRole} USING (true) WITH CHECK (true)`);
  if (!tenantColumn) return;
  const own = `${tenantColumn} = NULLIF(current_setting('muster.organization_id', true), '')::uuid`;
  await runner.query(`GRANT ${app} ON ${table} TO ${appRole}`);
  await runner.query(`CREATE POLICY ${table}_tenant ON ${table} TO ${appRole} USING (${own}) WITH CHECK (${own})`);
}
