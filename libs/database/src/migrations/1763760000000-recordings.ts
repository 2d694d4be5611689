import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Screen recordings, and the indexes of the lists of artifacts. */
export class Recordings1763760000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE recording (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT recording_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT recording_agent_fk REFERENCES agent ON DELETE CASCADE,
        name text,
        status text NOT NULL DEFAULT 'starting' CONSTRAINT recording_status_check
          CHECK (status IN ('starting', 'recording', 'stopping', 'kept', 'failed')),
        started_at timestamptz,
        ended_at timestamptz,
        error text,
        artifact_id uuid CONSTRAINT recording_artifact_fk REFERENCES artifact ON DELETE SET NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX recording_agent_idx ON recording (agent_id, id);
      CREATE INDEX recording_open_idx ON recording (agent_id) WHERE status IN ('starting', 'recording', 'stopping');
      CREATE INDEX recording_artifact_idx ON recording (artifact_id) WHERE artifact_id IS NOT NULL;
      CREATE INDEX artifact_organization_idx ON artifact (organization_id, id);
      UPDATE artifact SET kind = 'video' WHERE content_type LIKE 'video/%';
    `);
    await isolateTenantsOfTable(runner, 'recording', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE recording; DROP INDEX artifact_organization_idx');
  }
}
