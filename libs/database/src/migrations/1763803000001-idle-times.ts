import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** The idle times of machines between runs, how long the machines were on in them, and the possible savings. */
export class IdleTimes1763803000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_idle (
        agent_id uuid NOT NULL CONSTRAINT agent_idle_agent_fk REFERENCES agent ON DELETE CASCADE,
        began_at timestamptz NOT NULL,
        organization_id uuid NOT NULL CONSTRAINT agent_idle_organization_fk REFERENCES organization ON DELETE CASCADE,
        ended_at timestamptz,
        scheduled boolean NOT NULL DEFAULT false,
        on_ms bigint,
        on_since timestamptz,
        slept boolean NOT NULL DEFAULT false,
        policy text CONSTRAINT agent_idle_policy_check CHECK (policy IN ('fixed', 'adaptive')),
        saved_ms bigint,
        saved_micros bigint,
        PRIMARY KEY (agent_id, began_at)
      );
      CREATE UNIQUE INDEX agent_idle_open_key ON agent_idle (agent_id) WHERE ended_at IS NULL;
      CREATE INDEX agent_idle_saved_idx ON agent_idle (organization_id, ended_at);
    `);
    await isolateTenantsOfTable(runner, 'agent_idle', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_idle');
  }
}
