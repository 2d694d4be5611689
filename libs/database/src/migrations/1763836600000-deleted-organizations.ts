import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tables that get rows with the runs, waits, files and webhooks of an organization. For each inserted row, their foreign
 * key checked and locked the one row of the organization.
 */
const tables = [
  'access_entry',
  'account_use',
  'agent_idle',
  'agent_wake',
  'artifact',
  'concurrency_lease',
  'idempotency_key',
  'run_cost_day',
  'schedule_run',
  'webhook_attempt',
  'webhook_delivery',
];

/**
 * Drops the remaining foreign keys from the rows of runs to the organization. Row-level security guards the organization
 * of a row. Deleting an organization still deletes all of its rows: a trigger deletes those that no foreign key deletes,
 * also in the tables whose foreign keys an earlier migration dropped.
 */
export class DeletedOrganizations1763836600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION delete_rows_of_organization() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        unbound text;
      BEGIN
        FOR unbound IN
          SELECT c.relname FROM pg_class c
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped
          WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND NOT EXISTS (
              SELECT FROM pg_constraint f
              WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conkey = ARRAY[a.attnum]
                AND f.confrelid = 'organization'::regclass)
        LOOP
          EXECUTE format('DELETE FROM %I WHERE organization_id = $1', unbound) USING OLD.id;
        END LOOP;
        RETURN NULL;
      END $$`);
    await runner.query('REVOKE EXECUTE ON FUNCTION delete_rows_of_organization() FROM PUBLIC');
    // Triggers run in the order of their names. The foreign keys' own triggers, whose names begin with a capital R, have
    // then deleted most rows.
    await runner.query(`
      CREATE TRIGGER organization_deleted AFTER DELETE ON organization
        FOR EACH ROW EXECUTE FUNCTION delete_rows_of_organization()`);
    for (const table of tables) await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_organization_fk`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await runner.query(
        `ALTER TABLE ${table} ADD CONSTRAINT ${table}_organization_fk
           FOREIGN KEY (organization_id) REFERENCES organization ON DELETE CASCADE`,
      );
    }
    await runner.query('DROP TRIGGER organization_deleted ON organization');
    await runner.query('DROP FUNCTION delete_rows_of_organization()');
  }
}
