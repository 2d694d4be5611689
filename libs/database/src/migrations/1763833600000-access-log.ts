import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Read accesses to data that may belong to a patient: one row per minute for the same actor, subject and route. */
export class AccessLog1763833600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE access_entry (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT access_entry_organization_fk REFERENCES organization ON DELETE CASCADE,
        minute timestamptz NOT NULL,
        at timestamptz NOT NULL,
        actor_kind text NOT NULL CONSTRAINT access_entry_actor_check CHECK (actor_kind IN ('user', 'api_key')),
        actor_id text NOT NULL,
        actor_email text,
        address text NOT NULL,
        route text NOT NULL,
        subject_type text NOT NULL,
        subject_id text NOT NULL
      );
      CREATE UNIQUE INDEX access_entry_minute_key
        ON access_entry (organization_id, actor_id, subject_id, route, minute);
      CREATE INDEX access_entry_organization_idx ON access_entry (organization_id, id);
      CREATE INDEX access_entry_actor_idx ON access_entry (organization_id, actor_id, id);
      CREATE INDEX access_entry_subject_idx ON access_entry (organization_id, subject_id, id);
    `);
    // Rows never change. They are deleted after their retention period.
    await isolateTenantsOfTable(runner, 'access_entry', {
      tenantColumn: 'organization_id',
      app: 'SELECT',
      system: 'SELECT, INSERT, DELETE',
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE access_entry');
  }
}
