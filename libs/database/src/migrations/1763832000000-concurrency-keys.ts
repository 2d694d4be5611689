import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Concurrency keys: those that a job requests, and the runs that hold or wait for one. */
export class ConcurrencyKeys1763832000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job ADD COLUMN concurrency_keys jsonb');
    await runner.query(`
      CREATE TABLE concurrency_lease (
        organization_id uuid NOT NULL
          CONSTRAINT concurrency_lease_organization_fk REFERENCES organization ON DELETE CASCADE,
        key text NOT NULL,
        job_id uuid NOT NULL,
        agent_id uuid NOT NULL,
        most integer NOT NULL,
        priority integer NOT NULL,
        queued_at timestamptz NOT NULL,
        since timestamptz,
        PRIMARY KEY (organization_id, key, job_id)
      );
      CREATE INDEX concurrency_lease_job_idx ON concurrency_lease (job_id);
      CREATE INDEX concurrency_lease_waiting_idx ON concurrency_lease (agent_id) WHERE since IS NULL;
      CREATE INDEX concurrency_lease_held_idx ON concurrency_lease (agent_id) WHERE since IS NOT NULL;
    `);
    await isolateTenantsOfTable(runner, 'concurrency_lease', { tenantColumn: 'organization_id' });
    // A cleanup ends with a confirmed stop, with the next boot, or when the machine is off or gone. Each of them
    // releases the keys of the run that is cleaned up, in the same transaction.
    await runner.query(`
      CREATE FUNCTION give_back_cleared_keys() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM concurrency_lease
        WHERE agent_id = NEW.id AND since IS NOT NULL AND job_id IS DISTINCT FROM NEW.current_job_id;
        RETURN NULL;
      END $$;
      CREATE TRIGGER give_back_cleared_keys AFTER UPDATE OF clearing_command_id, status ON agent FOR EACH ROW
      WHEN (OLD.clearing_command_id IS NOT NULL AND (NEW.clearing_command_id IS NULL OR NEW.status = 'terminated'))
      EXECUTE FUNCTION give_back_cleared_keys();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER give_back_cleared_keys ON agent');
    await runner.query('DROP FUNCTION give_back_cleared_keys()');
    await runner.query('DROP TABLE concurrency_lease');
    await runner.query('ALTER TABLE job DROP COLUMN concurrency_keys');
  }
}
