import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const tables = [
  'pilot_roi_metric',
  'pilot_roi_change',
  'pilot_roi_state',
  'pilot_roi_day',
  'pilot_roi_times',
  'pilot_roi_cost',
];

/** Rollups for the return on investment: exact totals by day, and a log of the changes that they do not contain yet. */
export class RoiRollups1763793000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(metrics);
    await runner.query(ledger);
    await runner.query(rollups);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    await runner.query(triggers);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER job_cost_roi ON job; DROP TRIGGER pilot_batch_roi ON pilot_batch');
    await runner.query('DROP FUNCTION note_job_cost(), note_pilot_batch()');
    for (const table of tables.toReversed()) await runner.query(`DROP TABLE ${table}`);
    await runner.query('DROP INDEX pilot_batch_named_job_idx');
  }
}

const metrics = `
  CREATE INDEX pilot_batch_named_job_idx ON pilot_batch (organization_id, named_job_id, occurred_at)
    WHERE named_job_id IS NOT NULL;
  CREATE TABLE pilot_roi_metric (
    pilot_batch_id uuid PRIMARY KEY CONSTRAINT pilot_roi_metric_batch_fk REFERENCES pilot_batch ON DELETE CASCADE,
    organization_id uuid NOT NULL CONSTRAINT pilot_roi_metric_organization_fk REFERENCES organization ON DELETE CASCADE,
    processing_micros bigint[] NOT NULL,
    claims_gone boolean NOT NULL DEFAULT false
  );
  INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
  SELECT b.id, b.organization_id, ARRAY(
    SELECT c.processing_micros FROM pilot_claim_result c
    WHERE c.pilot_batch_id = b.id AND c.processing_micros IS NOT NULL ORDER BY 1)
  FROM pilot_batch b`;

const ledger = `
  CREATE TABLE pilot_roi_change (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL CONSTRAINT pilot_roi_change_organization_fk REFERENCES organization ON DELETE CASCADE,
    occurred_at timestamptz,
    job_id uuid
  );
  CREATE INDEX pilot_roi_change_organization_idx ON pilot_roi_change (organization_id, id);
  CREATE TABLE pilot_roi_state (
    organization_id uuid PRIMARY KEY CONSTRAINT pilot_roi_state_organization_fk REFERENCES organization ON DELETE CASCADE,
    timezone text NOT NULL,
    revision bigint NOT NULL DEFAULT 0
  )`;

const rollups = `
  CREATE TABLE pilot_roi_day (
    organization_id uuid NOT NULL CONSTRAINT pilot_roi_day_organization_fk REFERENCES organization ON DELETE CASCADE,
    workflow_id uuid NOT NULL,
    day date NOT NULL,
    batches integer NOT NULL,
    attempted integer NOT NULL,
    eob_uploaded integer NOT NULL,
    no_eob_found integer NOT NULL,
    failed integer NOT NULL,
    timed integer NOT NULL,
    processing_micros bigint NOT NULL,
    histogram bytea NOT NULL,
    PRIMARY KEY (organization_id, workflow_id, day)
  );
  CREATE TABLE pilot_roi_times (
    organization_id uuid NOT NULL CONSTRAINT pilot_roi_times_organization_fk REFERENCES organization ON DELETE CASCADE,
    workflow_id uuid NOT NULL,
    bucket integer NOT NULL,
    day date NOT NULL,
    times bytea NOT NULL,
    PRIMARY KEY (organization_id, workflow_id, bucket, day)
  );
  CREATE TABLE pilot_roi_cost (
    organization_id uuid NOT NULL CONSTRAINT pilot_roi_cost_organization_fk REFERENCES organization ON DELETE CASCADE,
    workflow_id uuid NOT NULL,
    day date NOT NULL,
    day_before date NOT NULL,
    jobs integer NOT NULL,
    cost_micros bigint NOT NULL,
    PRIMARY KEY (organization_id, workflow_id, day, day_before)
  )`;

// Every statement that changes a batch or the cost of a job inserts a row here.
const triggers = `
  CREATE FUNCTION note_pilot_batch() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN
      INSERT INTO pilot_roi_change (organization_id, occurred_at, job_id)
      SELECT OLD.organization_id, OLD.occurred_at, OLD.named_job_id
      WHERE EXISTS (SELECT FROM organization WHERE id = OLD.organization_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO pilot_roi_change (organization_id, occurred_at, job_id)
      VALUES (NEW.organization_id, NEW.occurred_at, NEW.named_job_id);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER pilot_batch_roi AFTER INSERT OR DELETE OR UPDATE OF
    job_id, named_job_id, workflow_id, occurred_at, deleted_job_cost_micros,
    claims_attempted, claims_eob_uploaded, claims_no_eob_found, claims_failed
    ON pilot_batch FOR EACH ROW EXECUTE FUNCTION note_pilot_batch();
  CREATE FUNCTION note_job_cost() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO pilot_roi_change (organization_id, job_id)
    SELECT NEW.organization_id, NEW.id WHERE EXISTS (SELECT FROM pilot_batch WHERE job_id = NEW.id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER job_cost_roi AFTER UPDATE OF total_cost_micros ON job FOR EACH ROW
    WHEN (OLD.total_cost_micros IS DISTINCT FROM NEW.total_cost_micros) EXECUTE FUNCTION note_job_cost()`;
