import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * The progress of an order to a machine's provider (stop, reboot or terminate), which follows from the agent's status.
 */
export class AgentControl1763710000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // eslint-disable-next-line plain/words -- the SQL of an applied migration does not change
    await runner.query(`
      CREATE TABLE agent_control (
        agent_id uuid PRIMARY KEY CONSTRAINT agent_control_agent_fk REFERENCES agent ON DELETE CASCADE,
        organization_id uuid NOT NULL
          CONSTRAINT agent_control_organization_fk REFERENCES organization ON DELETE CASCADE,
        -- Which stay in which status it is about; a later one begins anew.
        status text NOT NULL,
        status_since timestamptz NOT NULL,
        attempt integer NOT NULL DEFAULT 0,
        -- Nobody else tries before this: the lease of the one who does, or the pause until the next try.
        next_try_at timestamptz NOT NULL DEFAULT now(),
        -- When the provider took the order.
        issued_at timestamptz,
        error text
      );
      CREATE INDEX agent_control_due_idx ON agent_control (next_try_at);
      CREATE INDEX agent_transit_idx ON agent (status_since) WHERE status IN ('starting', 'stopping', 'rebooting');
    `);
    await isolateTenantsOfTable(runner, 'agent_control', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX agent_transit_idx; DROP TABLE agent_control');
  }
}
