import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Accounts that runs borrow from pools: the accounts, which run has or had which, and the pools that runs request. */
export class Accounts1763834000150 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account (
        organization_id uuid NOT NULL CONSTRAINT account_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        id uuid NOT NULL CONSTRAINT account_id_key UNIQUE,
        pool text NOT NULL,
        vault_keys jsonb NOT NULL,
        "limit" integer NOT NULL CONSTRAINT account_limit_check CHECK ("limit" > 0),
        cooldown_seconds integer NOT NULL,
        enabled boolean NOT NULL,
        set_aside_reason text,
        set_aside_message text,
        set_aside_since timestamptz,
        set_aside_job_id uuid,
        PRIMARY KEY (organization_id, name)
      );
      CREATE INDEX account_pool_idx ON account (organization_id, pool);
      CREATE TABLE account_use (
        job_id uuid NOT NULL,
        pool text NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT account_use_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL,
        priority integer NOT NULL,
        queued_at timestamptz NOT NULL,
        account text,
        since timestamptz,
        until timestamptz,
        failed_at timestamptz,
        PRIMARY KEY (job_id, pool)
      );
      CREATE INDEX account_use_open_idx ON account_use (organization_id, pool, since) WHERE until IS NULL;
      CREATE INDEX account_use_account_idx ON account_use (organization_id, account, until);
      CREATE INDEX account_use_since_idx ON account_use (organization_id, account, since, job_id);
      CREATE INDEX account_use_waiting_idx ON account_use (agent_id) WHERE since IS NULL;
      CREATE INDEX account_use_held_idx ON account_use (agent_id) WHERE since IS NOT NULL AND until IS NULL;
    `);
    for (const table of ['account', 'account_use'])
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    await runner.query('ALTER TABLE job ADD COLUMN accounts jsonb');
    await runner.query(`ALTER TABLE workflow ADD COLUMN accounts jsonb NOT NULL DEFAULT '[]'`);
    await runner.query(`ALTER TABLE schedule ADD COLUMN accounts jsonb NOT NULL DEFAULT '[]'`);
    await runner.query('ALTER TABLE agent_command ADD COLUMN secret_aliases jsonb');
    // The end of a cleanup gives back the accounts of the run that was cleaned up, like its concurrency keys.
    await runner.query(`
      CREATE FUNCTION give_back_cleared_accounts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE account_use SET until = GREATEST(since, date_trunc('milliseconds', muster_clock()))
        WHERE agent_id = NEW.id AND since IS NOT NULL AND until IS NULL AND job_id IS DISTINCT FROM NEW.current_job_id;
        RETURN NULL;
      END $$;
      CREATE TRIGGER give_back_cleared_accounts AFTER UPDATE OF clearing_command_id, status ON agent FOR EACH ROW
      WHEN (OLD.clearing_command_id IS NOT NULL AND (NEW.clearing_command_id IS NULL OR NEW.status = 'terminated'))
      EXECUTE FUNCTION give_back_cleared_accounts();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER give_back_cleared_accounts ON agent');
    await runner.query('DROP FUNCTION give_back_cleared_accounts()');
    await runner.query('ALTER TABLE agent_command DROP COLUMN secret_aliases');
    for (const table of ['schedule', 'workflow', 'job']) {
      await runner.query(`ALTER TABLE ${table} DROP COLUMN accounts`);
    }
    await runner.query('DROP TABLE account_use');
    await runner.query('DROP TABLE account');
  }
}
