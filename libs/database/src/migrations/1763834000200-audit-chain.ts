import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Hashes over the audit trail and the access log: a chain of days, and within an open day a chain of its rows. */
export class AuditChain1763834000200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE audit_entry ADD COLUMN digest bytea;
      ALTER TABLE access_entry ADD COLUMN digest bytea;
      CREATE TABLE audit_chain (
        one_row boolean PRIMARY KEY DEFAULT true CONSTRAINT audit_chain_one_row_check CHECK (one_row),
        closed_before timestamptz,
        closing_before timestamptz,
        fence text,
        audit_linked_to uuid NOT NULL,
        access_linked_to uuid NOT NULL,
        audit_kept_from timestamptz,
        access_kept_from timestamptz,
        digests_from timestamptz NOT NULL
      );
      CREATE TABLE audit_day (
        organization_id uuid NOT NULL CONSTRAINT audit_day_organization_fk REFERENCES organization ON DELETE CASCADE,
        log text NOT NULL CONSTRAINT audit_day_log_check CHECK (log IN ('audit', 'access')),
        day date NOT NULL,
        row_count integer NOT NULL,
        form integer NOT NULL,
        previous text NOT NULL,
        hash text NOT NULL,
        faults text[] NOT NULL DEFAULT '{}',
        PRIMARY KEY (organization_id, log, day)
      );
      CREATE TABLE audit_link (
        organization_id uuid NOT NULL CONSTRAINT audit_link_organization_fk REFERENCES organization ON DELETE CASCADE,
        log text NOT NULL CONSTRAINT audit_link_log_check CHECK (log IN ('audit', 'access')),
        day date NOT NULL,
        seq integer NOT NULL,
        ids uuid[] NOT NULL,
        digests bytea NOT NULL,
        last_id uuid NOT NULL,
        hash bytea NOT NULL,
        PRIMARY KEY (organization_id, log, day, seq)
      );
      CREATE INDEX audit_link_last_idx ON audit_link (log, last_id);
    `);
    // Processes of the previous release write no digests. After an upgrade they end within two days. A new installation
    // has no such processes.
    await runner.query(`
      INSERT INTO audit_chain (audit_linked_to, access_linked_to, digests_from)
      SELECT coalesce((SELECT id FROM audit_entry ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000'),
             coalesce((SELECT id FROM access_entry ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000'),
             CASE WHEN EXISTS (SELECT FROM audit_entry) THEN date_trunc('day', muster_now(), 'UTC') + interval '3 days'
               ELSE '-infinity' END`);

    await isolateTenantsOfTable(runner, 'audit_chain', { tenantColumn: null, system: 'SELECT, UPDATE' });
    await isolateTenantsOfTable(runner, 'audit_day', {
      tenantColumn: 'organization_id',
      app: 'SELECT',
      system: 'SELECT, INSERT',
    });
    await isolateTenantsOfTable(runner, 'audit_link', { tenantColumn: null, system: 'SELECT, INSERT, DELETE' });
    // The position concerns all organizations and shows nothing of any of them.
    await runner.query(`
      GRANT SELECT ON audit_chain TO muster_app;
      CREATE POLICY audit_chain_app ON audit_chain FOR SELECT TO muster_app USING (true)`);

    // A transaction that started before midnight must not add a row to a day that has been closed since. It is rolled
    // back with a serialization failure, and runs again at the present time.
    await runner.query(`
      CREATE FUNCTION require_open_audit_day(first timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
      BEGIN
        IF first < (SELECT closing_before FROM audit_chain) THEN
          RAISE EXCEPTION 'the day of an entry is closed' USING ERRCODE = 'serialization_failure';
        END IF;
        RETURN true;
      END $$`);

    // The service's roles may not delete entries of the audit trail. They can call this function, which deletes only
    // entries of days that were cut.
    await runner.query(`
      CREATE FUNCTION cut_audit_entries(batch integer) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        first_kept timestamptz := (SELECT LEAST(audit_kept_from, closed_before) FROM audit_chain);
        deleted integer;
      BEGIN
        DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry WHERE at < first_kept LIMIT batch);
        GET DIAGNOSTICS deleted = ROW_COUNT;
        RETURN deleted;
      END $$;
      REVOKE ALL ON FUNCTION cut_audit_entries(integer) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION cut_audit_entries(integer) TO muster_system`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION cut_audit_entries(integer);
      DROP FUNCTION require_open_audit_day(timestamptz);
      DROP TABLE audit_link, audit_day, audit_chain;
      ALTER TABLE access_entry DROP COLUMN digest;
      ALTER TABLE audit_entry DROP COLUMN digest`);
  }
}
