import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns and indexes for the idle stop, its explanation, and the watchdog of stale jobs. */
export class IdleAndWatchdog1763730000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent
        -- Since when its machine is on, or is being turned on; null while it is off.
        ADD COLUMN on_since timestamptz,
        -- What last_activity_at was.
        ADD COLUMN last_activity text,
        ADD COLUMN idle_stop_failed_at timestamptz,
        -- The stop that is to be confirmed before it is given another job.
        ADD COLUMN clearing_command_id uuid;
      UPDATE agent SET on_since = status_since WHERE status NOT IN ('stopped', 'terminated');
      ALTER TABLE job ADD COLUMN stalled_at timestamptz;
      ALTER TABLE organization_settings ADD COLUMN fail_stalled_runs boolean NOT NULL DEFAULT false;
      CREATE INDEX agent_idle_idx ON agent (organization_id, (COALESCE(last_activity_at, status_since)))
        WHERE status IN ('online', 'offline') AND provider <> 'external' AND NOT idle_auto_stop_exempt
          AND drain IS NULL;
      CREATE INDEX agent_held_idx ON agent (dispatched_at) WHERE current_job_id IS NOT NULL;
      DROP INDEX agent_watch_idx;
      CREATE INDEX agent_watch_idx ON agent (last_seen) WHERE status IN ('online', 'draining');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX agent_watch_idx, agent_held_idx, agent_idle_idx;
      CREATE INDEX agent_watch_idx ON agent (last_seen) WHERE status = 'online';
      ALTER TABLE organization_settings DROP COLUMN fail_stalled_runs;
      ALTER TABLE job DROP COLUMN stalled_at;
      ALTER TABLE agent DROP COLUMN on_since, DROP COLUMN last_activity, DROP COLUMN idle_stop_failed_at,
        DROP COLUMN clearing_command_id;
    `);
  }
}
