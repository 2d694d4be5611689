import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The idle stop policy, the boot time of each machine, and the nominal time for which a schedule's machine was
 * prewoken.
 */
export class Prewake1763803000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_settings
        ADD idle_stop_policy text NOT NULL DEFAULT 'fixed'
          CONSTRAINT organization_settings_idle_policy_check CHECK (idle_stop_policy IN ('fixed', 'adaptive')),
        ADD prewake boolean NOT NULL DEFAULT true;
      ALTER TABLE agent ADD boot_ms integer;
      UPDATE agent SET boot_ms = measured.ms FROM (
        SELECT agent_id, percentile_cont(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - requested_at)) * 1000
                 AS ms
        FROM agent_wake WHERE state = 'ready' AND attempt > 0 GROUP BY agent_id) AS measured
      WHERE measured.agent_id = agent.id;
      ALTER TABLE schedule ADD prewoken_for timestamptz;
      CREATE INDEX schedule_agent_next_idx ON schedule (agent_id, next_run_at) WHERE enabled;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX schedule_agent_next_idx;
      ALTER TABLE schedule DROP prewoken_for;
      ALTER TABLE agent DROP boot_ms;
      ALTER TABLE organization_settings DROP idle_stop_policy, DROP prewake;
    `);
  }
}
