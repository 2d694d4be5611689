import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** The charges of runs, the pricing models, and the steps from which each charge was computed. */
export class ClientPricing1763793000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(tables);
    for (const table of ['client_pricing_model', 'billing_metric', 'billing_metric_step']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE billing_metric_step, billing_metric, client_pricing_model');
  }
}

const tables = `
  CREATE TABLE client_pricing_model (
    organization_id uuid PRIMARY KEY
      CONSTRAINT client_pricing_model_organization_fk REFERENCES organization ON DELETE CASCADE,
    pricing_type text NOT NULL CONSTRAINT client_pricing_model_type_check
      CHECK (pricing_type IN ('npi_claim_block', 'per_claim', 'flat_per_run')),
    block_size integer CONSTRAINT client_pricing_model_block_check
      CHECK ((block_size IS NOT NULL) = (pricing_type = 'npi_claim_block')),
    price_micros bigint NOT NULL,
    minimum_micros bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE billing_metric (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT billing_metric_organization_fk REFERENCES organization ON DELETE CASCADE,
    job_id uuid NOT NULL,
    source text NOT NULL CONSTRAINT billing_metric_source_check
      CHECK (source IN ('claim_result', 'select_org_provider')),
    npi_count integer NOT NULL,
    total_claims integer NOT NULL,
    total_steps_before_dedup integer NOT NULL,
    duplicates_removed integer NOT NULL,
    claims_per_npi jsonb NOT NULL,
    charge_micros bigint NOT NULL,
    pricing_type text NOT NULL,
    block_size integer,
    price_micros bigint NOT NULL,
    minimum_micros bigint NOT NULL,
    computed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX billing_metric_job_key ON billing_metric (job_id);
  CREATE INDEX billing_metric_organization_idx ON billing_metric (organization_id, id);
  CREATE TABLE billing_metric_step (
    metric_id uuid NOT NULL CONSTRAINT billing_metric_step_metric_fk REFERENCES billing_metric ON DELETE CASCADE
      -- The figures follow from the steps, so these are written first.
      DEFERRABLE INITIALLY DEFERRED,
    step_order integer NOT NULL,
    organization_id uuid NOT NULL
      CONSTRAINT billing_metric_step_organization_fk REFERENCES organization ON DELETE CASCADE,
    npi text,
    claim_id text,
    claim_submission_id text,
    verdict text NOT NULL CONSTRAINT billing_metric_step_verdict_check
      CHECK (verdict IN ('counted', 'repeated', 'left_out')),
    PRIMARY KEY (metric_id, step_order)
  );`;
