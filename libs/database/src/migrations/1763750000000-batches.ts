import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Batches: many runs of one workflow that were launched at once. The jobs of a batch refer to it. */
export class Batches1763750000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE batch (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT batch_organization_fk REFERENCES organization ON DELETE CASCADE,
        workflow_id uuid NOT NULL CONSTRAINT batch_workflow_fk REFERENCES workflow ON DELETE CASCADE,
        workflow_revision integer NOT NULL,
        total integer NOT NULL,
        rejected integer NOT NULL,
        created_by text NOT NULL,
        cancel_requested_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX batch_organization_idx ON batch (organization_id, id);
      CREATE INDEX batch_workflow_idx ON batch (workflow_id, id);
    `);
    await isolateTenantsOfTable(runner, 'batch', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE batch');
  }
}
