import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Schedules, and the outcome of each nominal time. */
export class Schedules1763720000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // eslint-disable-next-line plain/words -- the SQL of an applied migration does not change
    await runner.query(`
      CREATE TABLE schedule (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT schedule_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        workflow_id uuid NOT NULL CONSTRAINT schedule_workflow_fk REFERENCES workflow ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT schedule_agent_fk REFERENCES agent ON DELETE CASCADE,
        cron_expression text NOT NULL,
        timezone text NOT NULL,
        enabled boolean NOT NULL DEFAULT true,
        variables jsonb NOT NULL DEFAULT '{}',
        vault_keys text[] NOT NULL DEFAULT '{}',
        max_runtime_minutes integer NOT NULL DEFAULT 720
          CONSTRAINT schedule_max_runtime_check CHECK (max_runtime_minutes BETWEEN 1 AND 1320),
        max_retries integer NOT NULL DEFAULT 0,
        retry_delay_seconds integer NOT NULL DEFAULT 0,
        concurrency_limit integer,
        idempotency_window_minutes integer,
        misfire_policy text NOT NULL DEFAULT 'once'
          CONSTRAINT schedule_misfire_policy_check CHECK (misfire_policy IN ('once', 'skip', 'all')),
        -- The first nominal time that has not been settled; null while it is disabled.
        next_run_at timestamptz,
        last_run_at timestamptz,
        last_run_job_id uuid CONSTRAINT schedule_last_run_job_fk REFERENCES job ON DELETE SET NULL,
        last_result text CONSTRAINT schedule_last_result_check CHECK (last_result IN ('launched', 'skipped', 'failed')),
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX schedule_organization_idx ON schedule (organization_id, id);
      CREATE INDEX schedule_due_idx ON schedule (next_run_at, id) WHERE enabled;
      CREATE INDEX schedule_organization_due_idx ON schedule (organization_id, next_run_at, id) WHERE enabled;
      CREATE INDEX schedule_last_run_job_idx ON schedule (last_run_job_id) WHERE last_run_job_id IS NOT NULL;
      CREATE INDEX schedule_agent_idx ON schedule (agent_id);
      CREATE INDEX schedule_workflow_idx ON schedule (workflow_id);
      CREATE TABLE schedule_run (
        schedule_id uuid NOT NULL CONSTRAINT schedule_run_schedule_fk REFERENCES schedule ON DELETE CASCADE,
        nominal_at timestamptz NOT NULL,
        kind text NOT NULL CONSTRAINT schedule_run_kind_check CHECK (kind IN ('tick', 'forced')),
        organization_id uuid NOT NULL
          CONSTRAINT schedule_run_organization_fk REFERENCES organization ON DELETE CASCADE,
        fired_at timestamptz NOT NULL,
        outcome text NOT NULL
          CONSTRAINT schedule_run_outcome_check CHECK (outcome IN ('launched', 'skipped', 'failed')),
        reason text,
        detail text,
        job_id uuid CONSTRAINT schedule_run_job_fk REFERENCES job ON DELETE SET NULL,
        -- A nominal time is settled once, whatever ticks.
        PRIMARY KEY (schedule_id, nominal_at, kind)
      );
      CREATE INDEX schedule_run_launched_idx ON schedule_run (schedule_id, fired_at) WHERE outcome = 'launched';
      CREATE INDEX schedule_run_job_idx ON schedule_run (job_id) WHERE job_id IS NOT NULL;
      CREATE INDEX schedule_run_fired_idx ON schedule_run (fired_at);
      CREATE INDEX job_schedule_open_idx ON job (schedule_id)
        WHERE schedule_id IS NOT NULL AND status IN ('queued', 'running');
    `);
    await isolateTenantsOfTable(runner, 'schedule', { tenantColumn: 'organization_id' });
    await isolateTenantsOfTable(runner, 'schedule_run', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX job_schedule_open_idx; DROP TABLE schedule_run, schedule');
  }
}
