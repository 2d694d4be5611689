import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * The data of an organization's stream: entries about runs and agents from the agents' timelines, and events that are
 * on no timeline. Log lines of runs are not in the index and cost nothing.
 */
export class OrganizationEvents1763820000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE timeline_entry ADD COLUMN transaction_id bigint;
      CREATE INDEX timeline_entry_told_idx ON timeline_entry (organization_id, transaction_id)
        WHERE transaction_id IS NOT NULL;
      CREATE TABLE organization_event (
        organization_id uuid NOT NULL
          CONSTRAINT organization_event_organization_fk REFERENCES organization ON DELETE CASCADE,
        transaction_id bigint NOT NULL,
        id uuid NOT NULL,
        type text NOT NULL,
        data jsonb NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (organization_id, transaction_id, id)
      );
      CREATE INDEX organization_event_time_idx ON organization_event USING brin (at);`);
    await isolateTenantsOfTable(runner, 'organization_event', {
      tenantColumn: 'organization_id',
      app: 'SELECT, INSERT',
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE organization_event;
      DROP INDEX timeline_entry_told_idx;
      ALTER TABLE timeline_entry DROP COLUMN transaction_id;`);
  }
}
