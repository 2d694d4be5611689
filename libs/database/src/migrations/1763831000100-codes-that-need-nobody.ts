import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Secrets that generate codes, and addresses that receive codes by message. */
export class CodesThatNeedNobody1763831000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE vault_secret
        ADD kind text NOT NULL DEFAULT 'secret' CONSTRAINT vault_secret_kind_check CHECK (kind IN ('secret', 'totp')),
        ADD totp_counter bigint,
        ADD totp_job_id uuid;

      CREATE TABLE inbound_code (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT inbound_code_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        pattern text,
        senders text[] NOT NULL DEFAULT '{}',
        sealed jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT muster_now()
      );
      CREATE UNIQUE INDEX inbound_code_name_key ON inbound_code (organization_id, name);

      CREATE TABLE inbound_message (
        inbound_id uuid NOT NULL CONSTRAINT inbound_message_inbound_fk REFERENCES inbound_code ON DELETE CASCADE,
        fingerprint text NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT inbound_message_organization_fk REFERENCES organization ON DELETE CASCADE,
        sealed jsonb,
        received_at timestamptz NOT NULL DEFAULT muster_now(),
        PRIMARY KEY (inbound_id, fingerprint)
      );
      CREATE INDEX inbound_message_received_idx ON inbound_message (received_at);
      CREATE INDEX inbound_message_organization_idx ON inbound_message (organization_id);

      ALTER TABLE question ADD inbound_id uuid
        CONSTRAINT question_inbound_fk REFERENCES inbound_code ON DELETE SET NULL;
      CREATE INDEX question_inbound_idx ON question (inbound_id, id) WHERE status = 'open' AND inbound_id IS NOT NULL;
    `);
    await isolateTenantsOfTable(runner, 'inbound_code', { tenantColumn: 'organization_id' });
    await isolateTenantsOfTable(runner, 'inbound_message', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE question DROP inbound_id;
      DROP TABLE inbound_message;
      DROP TABLE inbound_code;
      ALTER TABLE vault_secret DROP kind, DROP totp_counter, DROP totp_job_id;
    `);
  }
}
