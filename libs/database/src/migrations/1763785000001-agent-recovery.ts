import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Attempts to recover unhealthy workers, and their outcomes. */
export class AgentRecovery1763785000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD recovery_checks integer NOT NULL DEFAULT 0, ADD recovery_step text;
      CREATE TABLE agent_recovery (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT agent_recovery_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT agent_recovery_agent_fk REFERENCES agent ON DELETE CASCADE,
        step text NOT NULL CONSTRAINT agent_recovery_step_check
          CHECK (step IN ('resync', 'repair', 'restart', 'reboot')),
        reason text NOT NULL,
        outcome text NOT NULL DEFAULT 'tried' CONSTRAINT agent_recovery_outcome_check
          CHECK (outcome IN ('tried', 'helped', 'failed')),
        attempted_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
      );
      CREATE INDEX agent_recovery_agent_idx ON agent_recovery (agent_id, step, attempted_at);
      CREATE UNIQUE INDEX agent_recovery_tried_key ON agent_recovery (agent_id) WHERE outcome = 'tried';
    `);
    await isolateTenantsOfTable(runner, 'agent_recovery', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_recovery; ALTER TABLE agent DROP recovery_checks, DROP recovery_step');
  }
}
