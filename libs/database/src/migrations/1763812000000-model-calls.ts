import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Requests to language models: their usage, their costs besides those of runs, and the models that organizations
 * provide.
 */
export class ModelCalls1763812000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE organization_model (
        organization_id uuid PRIMARY KEY CONSTRAINT organization_model_organization_fk
          REFERENCES organization ON DELETE CASCADE,
        base_url text NOT NULL,
        name text NOT NULL,
        vision_name text,
        api_key_vault_key text NOT NULL
      );
      CREATE TABLE model_call (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT model_call_organization_fk REFERENCES organization ON DELETE CASCADE,
        purpose text NOT NULL,
        provider text NOT NULL,
        model text NOT NULL,
        input_tokens bigint NOT NULL DEFAULT 0,
        output_tokens bigint NOT NULL DEFAULT 0,
        cost_micros bigint NOT NULL DEFAULT 0,
        estimated boolean NOT NULL DEFAULT false,
        outcome text NOT NULL DEFAULT 'open' CONSTRAINT model_call_outcome_check
          CHECK (outcome IN ('open', 'answered', 'cut', 'failed', 'lost')),
        duration_ms integer,
        agent_id uuid,
        job_id uuid,
        session_id uuid,
        at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX model_call_organization_idx ON model_call (organization_id, at);
      CREATE INDEX model_call_open_idx ON model_call (id) WHERE outcome = 'open';
      ALTER TABLE run_cost_component ADD purpose text, ALTER workflow_id DROP NOT NULL, ALTER agent_id DROP NOT NULL;
    `);
    for (const table of ['organization_model', 'model_call']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM run_cost_component WHERE purpose IS NOT NULL;
      ALTER TABLE run_cost_component DROP purpose, ALTER workflow_id SET NOT NULL, ALTER agent_id SET NOT NULL;
      DROP TABLE model_call, organization_model;
    `);
  }
}
