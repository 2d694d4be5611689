import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const statuses = `('received', 'triaged', 'in_progress', 'resolved', 'closed', 'rejected')`;
const severities = `('low', 'medium', 'high', 'critical')`;
const trackers = `('codehost', 'tasktracker')`;

const organizationColumnSql = (table: string) =>
  `organization_id uuid NOT NULL CONSTRAINT ${table}_organization_fk REFERENCES organization ON DELETE CASCADE`;

/** Feedback reports, and their work items in the trackers. */
export class Feedback1763807000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE feedback_submission (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('feedback_submission')},
        type text NOT NULL CONSTRAINT feedback_submission_type_check
          CHECK (type IN ('feature_request', 'bug_report', 'workflow_issue_report')),
        status text NOT NULL DEFAULT 'received' CONSTRAINT feedback_submission_status_check
          CHECK (status IN ${statuses}),
        status_at timestamptz NOT NULL DEFAULT now(),
        title text NOT NULL,
        description text NOT NULL,
        severity text CONSTRAINT feedback_submission_severity_check CHECK (severity IN ${severities}),
        steps text,
        url text,
        agent_id uuid,
        workflow_id uuid,
        job_id uuid,
        reporter_id text NOT NULL,
        reporter_email text,
        screenshot_key text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX feedback_submission_organization_idx ON feedback_submission (organization_id, id);
      CREATE INDEX feedback_submission_reporter_idx ON feedback_submission (organization_id, reporter_id, id);

      CREATE TABLE feedback_status_change (
        id uuid PRIMARY KEY,
        submission_id uuid NOT NULL CONSTRAINT feedback_status_change_submission_fk
          REFERENCES feedback_submission ON DELETE CASCADE,
        ${organizationColumnSql('feedback_status_change')},
        at timestamptz NOT NULL,
        from_status text NOT NULL CONSTRAINT feedback_status_change_from_check CHECK (from_status IN ${statuses}),
        to_status text NOT NULL CONSTRAINT feedback_status_change_to_check CHECK (to_status IN ${statuses}),
        source text NOT NULL CONSTRAINT feedback_status_change_source_check
          CHECK (source IN ('user', 'codehost', 'tasktracker')),
        reason text
      );
      CREATE INDEX feedback_status_change_submission_idx ON feedback_status_change (submission_id, id);

      CREATE TABLE feedback_work_item (
        submission_id uuid PRIMARY KEY CONSTRAINT feedback_work_item_submission_fk
          REFERENCES feedback_submission ON DELETE CASCADE,
        ${organizationColumnSql('feedback_work_item')},
        severity text CONSTRAINT feedback_work_item_severity_check CHECK (severity IN ${severities}),
        component text,
        summary text,
        duplicates uuid[] NOT NULL DEFAULT '{}',
        enriched_by text,
        armed integer NOT NULL DEFAULT 1,
        due_at timestamptz DEFAULT now(),
        lease uuid,
        leased_until timestamptz
      );
      CREATE INDEX feedback_work_item_due_idx ON feedback_work_item (due_at, submission_id) WHERE due_at IS NOT NULL;

      CREATE TABLE feedback_link (
        id uuid PRIMARY KEY,
        submission_id uuid NOT NULL CONSTRAINT feedback_link_work_item_fk
          REFERENCES feedback_work_item ON DELETE CASCADE,
        ${organizationColumnSql('feedback_link')},
        tracker text NOT NULL CONSTRAINT feedback_link_tracker_check CHECK (tracker IN ${trackers}),
        scope text,
        external_id text,
        external_url text,
        branch text,
        first_claimed_at timestamptz,
        claimed_at timestamptz,
        seen_status text CONSTRAINT feedback_link_seen_check CHECK (seen_status IN ${statuses}),
        writing_status text CONSTRAINT feedback_link_writing_check CHECK (writing_status IN ${statuses}),
        joined boolean NOT NULL DEFAULT false,
        unlinked_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        next_try_at timestamptz,
        error text,
        failing_since timestamptz,
        dead_at timestamptz,
        stop_told_at timestamptz
      );
      CREATE UNIQUE INDEX feedback_link_tracker_key ON feedback_link (submission_id, tracker);
      CREATE UNIQUE INDEX feedback_link_external_key ON feedback_link (tracker, scope, external_id)
        WHERE external_id IS NOT NULL;
      CREATE INDEX feedback_link_branch_idx ON feedback_link (branch) WHERE branch IS NOT NULL;
      CREATE INDEX feedback_link_dead_idx ON feedback_link (id) WHERE dead_at IS NOT NULL;

      CREATE TABLE feedback_tracker (
        tracker text PRIMARY KEY CONSTRAINT feedback_tracker_tracker_check CHECK (tracker IN ${trackers}),
        stopped_at timestamptz,
        reason text,
        next_try_at timestamptz,
        paused_until timestamptz
      );

      CREATE TABLE feedback_reconciliation (
        nominal_at timestamptz PRIMARY KEY,
        began_at timestamptz NOT NULL,
        finished_at timestamptz,
        armed integer NOT NULL DEFAULT 0
      );

      CREATE TABLE feedback_delivery (
        tracker text NOT NULL CONSTRAINT feedback_delivery_tracker_check CHECK (tracker IN ${trackers}),
        delivery_id text NOT NULL,
        received_at timestamptz NOT NULL,
        PRIMARY KEY (tracker, delivery_id)
      );
      CREATE INDEX feedback_delivery_received_idx ON feedback_delivery (received_at);
    `);
    for (const table of ['submission', 'status_change', 'work_item', 'link']) {
      await isolateTenantsOfTable(runner, `feedback_${table}`, { tenantColumn: 'organization_id' });
    }
    for (const table of ['tracker', 'reconciliation', 'delivery']) {
      await isolateTenantsOfTable(runner, `feedback_${table}`, { tenantColumn: null });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE feedback_delivery, feedback_reconciliation, feedback_tracker, feedback_link, feedback_work_item,
        feedback_status_change, feedback_submission
    `);
  }
}
