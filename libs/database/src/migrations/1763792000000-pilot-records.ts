import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const tables = [
  'pilot_batch',
  'pilot_claim_result',
  'pilot_stop_event',
  'process_library_session_summary',
  'process_library_session_timeline',
];

/** The batches that organizations report, and the sessions that are derived from them. */
export class PilotRecords1763792000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE pilot_batch (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT pilot_batch_organization_fk REFERENCES organization ON DELETE CASCADE,
        batch_id text NOT NULL,
        job_id uuid CONSTRAINT pilot_batch_job_fk REFERENCES job ON DELETE SET NULL,
        named_job_id uuid,
        workflow_id uuid,
        worker_key text,
        started_at timestamptz,
        finished_at timestamptz,
        ingested_at timestamptz NOT NULL DEFAULT now(),
        occurred_at timestamptz NOT NULL,
        claims_attempted integer NOT NULL DEFAULT 0,
        claims_eob_uploaded integer NOT NULL DEFAULT 0,
        claims_no_eob_found integer NOT NULL DEFAULT 0,
        claims_failed integer NOT NULL DEFAULT 0,
        stop_events integer NOT NULL DEFAULT 0,
        processing_micros bigint,
        deleted_job_cost_micros bigint,
        totals jsonb,
        metadata jsonb NOT NULL DEFAULT '{}'
      );
      CREATE UNIQUE INDEX pilot_batch_key ON pilot_batch (organization_id, batch_id);
      CREATE INDEX pilot_batch_occurred_idx ON pilot_batch (organization_id, occurred_at, id);
      CREATE INDEX pilot_batch_workflow_idx ON pilot_batch (organization_id, workflow_id, occurred_at, id)
        WHERE workflow_id IS NOT NULL;
      CREATE INDEX pilot_batch_job_idx ON pilot_batch (job_id, occurred_at, id) WHERE job_id IS NOT NULL;

      CREATE TABLE pilot_claim_result (
        organization_id uuid NOT NULL
          CONSTRAINT pilot_claim_result_organization_fk REFERENCES organization ON DELETE CASCADE,
        id text NOT NULL,
        pilot_batch_id uuid NOT NULL CONSTRAINT pilot_claim_result_batch_fk REFERENCES pilot_batch ON DELETE CASCADE,
        claim_index integer NOT NULL,
        claim_id text NOT NULL,
        npi text,
        outcome text NOT NULL CONSTRAINT pilot_claim_result_outcome_check
          CHECK (outcome IN ('eob_uploaded', 'no_eob_found', 'failed')),
        processing_micros bigint CONSTRAINT pilot_claim_result_processing_check CHECK (processing_micros >= 0),
        message text,
        metadata jsonb,
        PRIMARY KEY (organization_id, id)
      );
      CREATE UNIQUE INDEX pilot_claim_result_batch_key ON pilot_claim_result (pilot_batch_id, claim_index);

      CREATE TABLE pilot_stop_event (
        pilot_batch_id uuid NOT NULL CONSTRAINT pilot_stop_event_batch_fk REFERENCES pilot_batch ON DELETE CASCADE,
        event_index integer NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT pilot_stop_event_organization_fk REFERENCES organization ON DELETE CASCADE,
        reason text NOT NULL,
        at timestamptz NOT NULL,
        detail text,
        metadata jsonb,
        PRIMARY KEY (pilot_batch_id, event_index)
      );

      CREATE TABLE process_library_session_summary (
        pilot_batch_id uuid PRIMARY KEY
          CONSTRAINT session_summary_batch_fk REFERENCES pilot_batch ON DELETE CASCADE,
        organization_id uuid NOT NULL
          CONSTRAINT session_summary_organization_fk REFERENCES organization ON DELETE CASCADE,
        occurred_at timestamptz NOT NULL,
        worker_key text,
        duration_ms bigint,
        stop_reason text,
        headline text NOT NULL,
        generated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX session_summary_occurred_idx
        ON process_library_session_summary (organization_id, occurred_at, pilot_batch_id);
      CREATE INDEX session_summary_worker_idx
        ON process_library_session_summary (organization_id, worker_key, occurred_at, pilot_batch_id)
        WHERE worker_key IS NOT NULL;

      CREATE TABLE process_library_session_timeline (
        pilot_batch_id uuid NOT NULL
          CONSTRAINT session_timeline_batch_fk REFERENCES pilot_batch ON DELETE CASCADE,
        position integer NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT session_timeline_organization_fk REFERENCES organization ON DELETE CASCADE,
        at timestamptz NOT NULL,
        kind text NOT NULL CONSTRAINT session_timeline_kind_check
          CHECK (kind IN ('started', 'claim', 'stop', 'finished')),
        claim_id text,
        outcome text,
        reason text,
        text text NOT NULL,
        PRIMARY KEY (pilot_batch_id, position)
      );
    `);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables.toReversed()) await runner.query(`DROP TABLE ${table}`);
  }
}
