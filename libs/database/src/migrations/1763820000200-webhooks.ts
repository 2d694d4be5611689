import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Outbound webhooks: endpoints and their secrets, events, deliveries, and the outcome of each attempt. */
export class Webhooks1763820000200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhook_endpoint (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT webhook_endpoint_organization_fk REFERENCES organization ON DELETE CASCADE,
        url text NOT NULL,
        events text[] NOT NULL,
        description text,
        enabled boolean NOT NULL DEFAULT true,
        turned_off_reason text,
        turned_off_at timestamptz,
        failing_since timestamptz,
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX webhook_endpoint_organization_idx ON webhook_endpoint (organization_id, id);

      CREATE TABLE webhook_secret (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT webhook_secret_organization_fk REFERENCES organization ON DELETE CASCADE,
        endpoint_id uuid NOT NULL CONSTRAINT webhook_secret_endpoint_fk REFERENCES webhook_endpoint ON DELETE CASCADE,
        master_key_id text NOT NULL,
        wrapped_key bytea NOT NULL,
        sealed bytea NOT NULL,
        expires_at timestamptz
      );
      CREATE INDEX webhook_secret_endpoint_idx ON webhook_secret (endpoint_id);
      CREATE INDEX webhook_secret_organization_idx ON webhook_secret (organization_id);

      CREATE TABLE webhook_event (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT webhook_event_organization_fk REFERENCES organization ON DELETE CASCADE,
        type text NOT NULL,
        subject_id uuid NOT NULL,
        sequence bigint NOT NULL,
        details jsonb,
        once text,
        body text,
        fanned_out_at timestamptz,
        faults integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX webhook_event_subject_idx ON webhook_event (subject_id, sequence);
      CREATE UNIQUE INDEX webhook_event_once_key ON webhook_event (organization_id, once) WHERE once IS NOT NULL;
      CREATE INDEX webhook_event_waiting_idx ON webhook_event (organization_id, id) WHERE fanned_out_at IS NULL;
      CREATE INDEX webhook_event_created_idx ON webhook_event (created_at);

      CREATE TABLE webhook_delivery (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL
          CONSTRAINT webhook_delivery_organization_fk REFERENCES organization ON DELETE CASCADE,
        endpoint_id uuid NOT NULL CONSTRAINT webhook_delivery_endpoint_fk REFERENCES webhook_endpoint ON DELETE CASCADE,
        event_id uuid NOT NULL CONSTRAINT webhook_delivery_event_fk REFERENCES webhook_event ON DELETE CASCADE,
        type text NOT NULL,
        status text NOT NULL DEFAULT 'pending' CONSTRAINT webhook_delivery_status_check
          CHECK (status IN ('pending', 'delivered', 'dead')),
        tries integer NOT NULL DEFAULT 0,
        asked boolean NOT NULL DEFAULT false,
        due_at timestamptz NOT NULL,
        lease_id uuid,
        leased_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE UNIQUE INDEX webhook_delivery_event_key ON webhook_delivery (event_id, endpoint_id);
      CREATE INDEX webhook_delivery_endpoint_idx ON webhook_delivery (endpoint_id, id);
      CREATE INDEX webhook_delivery_due_idx ON webhook_delivery (endpoint_id, due_at) WHERE status = 'pending';
      CREATE INDEX webhook_delivery_organization_idx ON webhook_delivery (organization_id);
      CREATE INDEX webhook_delivery_created_idx ON webhook_delivery (created_at);

      CREATE TABLE webhook_attempt (
        delivery_id uuid NOT NULL CONSTRAINT webhook_attempt_delivery_fk REFERENCES webhook_delivery ON DELETE CASCADE,
        number integer NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT webhook_attempt_organization_fk REFERENCES organization ON DELETE CASCADE,
        at timestamptz NOT NULL,
        status_code integer,
        duration_ms integer NOT NULL,
        error text,
        PRIMARY KEY (delivery_id, number)
      );
      CREATE INDEX webhook_attempt_organization_idx ON webhook_attempt (organization_id);
    `);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of [...tables].reverse()) await runner.query(`DROP TABLE ${table}`);
  }
}

const tables = ['webhook_endpoint', 'webhook_secret', 'webhook_event', 'webhook_delivery', 'webhook_attempt'];
