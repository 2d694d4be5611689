import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Alert rules of organizations, their alerts, and events that are also sent to certain channels. */
export class Alerts1763835000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE alert_rule (
        organization_id uuid NOT NULL CONSTRAINT alert_rule_organization_fk REFERENCES organization ON DELETE CASCADE,
        rule text NOT NULL,
        enabled boolean NOT NULL,
        channel_ids uuid[] NOT NULL DEFAULT '{}',
        options jsonb NOT NULL DEFAULT '{}',
        event_types text[] NOT NULL DEFAULT '{}',
        updated_at timestamptz NOT NULL DEFAULT muster_now(),
        PRIMARY KEY (organization_id, rule)
      );
      CREATE INDEX alert_rule_enabled_idx ON alert_rule (rule, organization_id) WHERE enabled;

      CREATE TABLE alert (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT alert_organization_fk REFERENCES organization ON DELETE CASCADE,
        rule text NOT NULL,
        subject_type text NOT NULL,
        subject_id text NOT NULL,
        subject_name text NOT NULL,
        opened_at timestamptz NOT NULL DEFAULT muster_now(),
        last_at timestamptz NOT NULL DEFAULT muster_now(),
        resolved_at timestamptz,
        acknowledged_by text,
        acknowledged_at timestamptz,
        count integer NOT NULL DEFAULT 1 CONSTRAINT alert_count_check CHECK (count > 0)
      );
      CREATE UNIQUE INDEX alert_open_key ON alert (organization_id, rule, subject_id) WHERE resolved_at IS NULL;
      CREATE INDEX alert_organization_idx ON alert (organization_id, id);
      CREATE INDEX alert_organization_open_idx ON alert (organization_id, id) WHERE resolved_at IS NULL;
      CREATE INDEX alert_rule_open_idx ON alert (rule, id) WHERE resolved_at IS NULL;
      CREATE INDEX alert_resolved_idx ON alert (resolved_at) WHERE resolved_at IS NOT NULL;

      CREATE TABLE alert_streak (
        workflow_id uuid PRIMARY KEY CONSTRAINT alert_streak_workflow_fk REFERENCES workflow ON DELETE CASCADE,
        organization_id uuid NOT NULL CONSTRAINT alert_streak_organization_fk REFERENCES organization ON DELETE CASCADE,
        failures integer NOT NULL DEFAULT 0,
        failed_at timestamptz,
        completed_at timestamptz
      );
      CREATE INDEX alert_streak_organization_idx ON alert_streak (organization_id);

      ALTER TABLE webhook_event ADD channel_ids uuid[];
    `);
    for (const table of ['alert_rule', 'alert', 'alert_streak']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM webhook_event WHERE type = 'alert.opened';
      ALTER TABLE webhook_event DROP channel_ids;
      DROP TABLE alert_streak;
      DROP TABLE alert;
      DROP TABLE alert_rule;
    `);
  }
}
