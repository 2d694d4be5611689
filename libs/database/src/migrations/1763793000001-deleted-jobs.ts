import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Deleted jobs: a record that each existed, and the objects that are still to be removed. */
export class DeletedJobs1763793000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // eslint-disable-next-line plain/words -- the SQL of an applied migration does not change
    await runner.query(`
      -- A worker that did not hear of it yet is told that the job is over, and not that there never was one.
      CREATE TABLE deleted_job (
        job_id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT deleted_job_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL,
        deleted_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE object_removal (
        storage_key text PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT object_removal_organization_fk REFERENCES organization ON DELETE CASCADE,
        job_id uuid NOT NULL,
        last_arrival_at timestamptz NOT NULL,
        enqueued_at timestamptz
      );
      CREATE INDEX object_removal_job_idx ON object_removal (job_id, storage_key);
      CREATE INDEX object_removal_due_idx ON object_removal (last_arrival_at)`);
    for (const table of ['deleted_job', 'object_removal']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE object_removal, deleted_job');
  }
}
