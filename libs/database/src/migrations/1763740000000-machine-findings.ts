import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Machines without an agent and agents without a machine, since the pass that found them first. */
export class MachineFindings1763740000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE machine_finding (
        kind text NOT NULL CONSTRAINT machine_finding_kind_check CHECK (kind IN ('orphan', 'gone')),
        provider text NOT NULL,
        -- What the provider lists together: a region, an engine, a control plane.
        place text NOT NULL,
        -- An orphan's name at its provider, or the id of the agent whose machine is gone.
        ref text NOT NULL,
        -- What an orphan says of its owner may be of anybody, so this refers to no row.
        agent_id uuid,
        first_seen_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now(),
        acted_at timestamptz,
        reason text NOT NULL,
        PRIMARY KEY (kind, provider, place, ref)
      );
      CREATE INDEX machine_finding_seen_idx ON machine_finding (last_seen_at);
    `);
    await isolateTenantsOfTable(runner, 'machine_finding', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE machine_finding');
  }
}
