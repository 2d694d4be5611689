import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const tables = [
  'library_process',
  'workflow_pack',
  'pack_bundle',
  'runtime_bundle',
  'pack_upload',
  'pack_version',
  'pack_version_move',
  'pack_installation',
  'pack_installation_move',
];

const organizationColumnSql = (table: string) =>
  `organization_id uuid NOT NULL CONSTRAINT ${table}_organization_fk REFERENCES organization ON DELETE CASCADE`;

/** Workflow packs: their bundles, drafts, versions and installations, and the version that a run uses. */
export class WorkflowPacks1763805000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE library_process (
        ${organizationColumnSql('library_process')},
        worker_key text NOT NULL,
        name text NOT NULL,
        description text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (organization_id, worker_key)
      );

      CREATE TABLE workflow_pack (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('workflow_pack')},
        worker_key text NOT NULL,
        name text NOT NULL,
        description text NOT NULL DEFAULT '',
        stage_tags text[] NOT NULL DEFAULT '{}',
        draft_runtime_bundle_id uuid,
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX workflow_pack_worker_key ON workflow_pack (organization_id, worker_key);
      CREATE INDEX workflow_pack_organization_idx ON workflow_pack (organization_id, id);
      CREATE INDEX workflow_pack_draft_idx ON workflow_pack (draft_runtime_bundle_id);

      CREATE TABLE pack_bundle (
        ${organizationColumnSql('pack_bundle')},
        digest text NOT NULL,
        size bigint NOT NULL,
        touched_at timestamptz NOT NULL DEFAULT now(),
        removing_at timestamptz,
        PRIMARY KEY (organization_id, digest)
      );
      CREATE INDEX pack_bundle_touched_idx ON pack_bundle (touched_at);

      CREATE TABLE runtime_bundle (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('runtime_bundle')},
        pack_id uuid NOT NULL CONSTRAINT runtime_bundle_pack_fk REFERENCES workflow_pack ON DELETE CASCADE,
        digest text NOT NULL,
        base_runtime_bundle_id uuid,
        file_count integer NOT NULL,
        unpacked_size bigint NOT NULL,
        created_by text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        stored_at timestamptz,
        replaced_at timestamptz,
        CONSTRAINT runtime_bundle_bytes_fk FOREIGN KEY (organization_id, digest) REFERENCES pack_bundle
      );
      CREATE INDEX runtime_bundle_pack_idx ON runtime_bundle (pack_id, id);
      CREATE INDEX runtime_bundle_bytes_idx ON runtime_bundle (organization_id, digest);
      CREATE INDEX runtime_bundle_unused_idx ON runtime_bundle (created_at) WHERE stored_at IS NULL;
      CREATE INDEX runtime_bundle_replaced_idx ON runtime_bundle (replaced_at) WHERE replaced_at IS NOT NULL;
      ALTER TABLE workflow_pack ADD CONSTRAINT workflow_pack_draft_fk
        FOREIGN KEY (draft_runtime_bundle_id) REFERENCES runtime_bundle;

      CREATE TABLE pack_upload (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('pack_upload')},
        pack_id uuid NOT NULL CONSTRAINT pack_upload_pack_fk REFERENCES workflow_pack ON DELETE CASCADE,
        upload_key text NOT NULL,
        file_name text,
        content_type text NOT NULL,
        expires_at timestamptz NOT NULL,
        runtime_bundle_id uuid,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX pack_upload_key ON pack_upload (upload_key);
      CREATE INDEX pack_upload_pack_idx ON pack_upload (pack_id);
      CREATE INDEX pack_upload_created_idx ON pack_upload (created_at);

      CREATE TABLE pack_version (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('pack_version')},
        pack_id uuid NOT NULL CONSTRAINT pack_version_pack_fk REFERENCES workflow_pack ON DELETE CASCADE,
        number integer NOT NULL,
        label text,
        notes text,
        stage text NOT NULL DEFAULT 'draft' CONSTRAINT pack_version_stage_check
          CHECK (stage IN ('draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived')),
        runtime_bundle_id uuid NOT NULL CONSTRAINT pack_version_bundle_fk REFERENCES runtime_bundle,
        created_by text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX pack_version_number ON pack_version (pack_id, number);
      CREATE UNIQUE INDEX pack_version_bundle ON pack_version (runtime_bundle_id);

      CREATE TABLE pack_version_move (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('pack_version_move')},
        version_id uuid NOT NULL CONSTRAINT pack_version_move_version_fk REFERENCES pack_version ON DELETE CASCADE,
        from_stage text NOT NULL,
        to_stage text NOT NULL,
        moved_by text NOT NULL,
        reason text,
        moved_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX pack_version_move_version_idx ON pack_version_move (version_id, id);

      CREATE TABLE pack_installation (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('pack_installation')},
        pack_id uuid NOT NULL CONSTRAINT pack_installation_pack_fk REFERENCES workflow_pack ON DELETE CASCADE,
        name text NOT NULL,
        metadata jsonb NOT NULL DEFAULT '{}',
        pinned_version_id uuid CONSTRAINT pack_installation_pinned_fk REFERENCES pack_version,
        previous_version_id uuid CONSTRAINT pack_installation_previous_fk REFERENCES pack_version,
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX pack_installation_name ON pack_installation (pack_id, name);
      CREATE INDEX pack_installation_organization_idx ON pack_installation (organization_id, id);
      CREATE INDEX pack_installation_pinned_idx ON pack_installation (pinned_version_id);
      CREATE INDEX pack_installation_previous_idx ON pack_installation (previous_version_id);

      CREATE TABLE pack_installation_move (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('pack_installation_move')},
        installation_id uuid NOT NULL CONSTRAINT pack_installation_move_installation_fk
          REFERENCES pack_installation ON DELETE CASCADE,
        action text NOT NULL CONSTRAINT pack_installation_move_action_check CHECK (action IN ('pin', 'rollback')),
        from_version_id uuid,
        to_version_id uuid NOT NULL,
        moved_by text NOT NULL,
        reason text,
        moved_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX pack_installation_move_installation_idx ON pack_installation_move (installation_id, id);

      ALTER TABLE workflow ADD COLUMN workflow_pack_installation_id uuid;
      ALTER TABLE schedule ADD COLUMN workflow_pack_installation_id uuid;
      ALTER TABLE batch ADD COLUMN workflow_pack_installation_id uuid;
      ALTER TABLE job ADD COLUMN workflow_pack_installation_id uuid, ADD COLUMN bundle jsonb;
      CREATE INDEX job_installation_queued_idx ON job (workflow_pack_installation_id, id)
        WHERE status = 'queued' AND workflow_pack_installation_id IS NOT NULL;
    `);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE job DROP COLUMN workflow_pack_installation_id, DROP COLUMN bundle;
      ALTER TABLE batch DROP COLUMN workflow_pack_installation_id;
      ALTER TABLE schedule DROP COLUMN workflow_pack_installation_id;
      ALTER TABLE workflow DROP COLUMN workflow_pack_installation_id;
      ALTER TABLE workflow_pack DROP CONSTRAINT workflow_pack_draft_fk;
    `);
    for (const table of [...tables].reverse()) await runner.query(`DROP TABLE ${table}`);
  }
}
