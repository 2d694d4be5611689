import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Model prices of organizations and default prices, and requests to recompute the costs of runs. */
export class ModelPrices1763791000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const price = `
      provider_key text NOT NULL,
      model_key text NOT NULL,
      from_day date NOT NULL,
      provider text NOT NULL,
      model text NOT NULL,
      input_micros bigint NOT NULL,
      output_micros bigint NOT NULL`;
    await runner.query(`
      CREATE TABLE model_price (
        organization_id uuid NOT NULL CONSTRAINT model_price_organization_fk REFERENCES organization ON DELETE CASCADE,
        ${price},
        PRIMARY KEY (organization_id, provider_key, model_key, from_day)
      );
      CREATE TABLE default_model_price (${price}, PRIMARY KEY (provider_key, model_key, from_day));
      CREATE TABLE default_price_list (
        id boolean PRIMARY KEY DEFAULT true CONSTRAINT default_price_list_id_check CHECK (id),
        replaced_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE cost_recompute (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT cost_recompute_organization_fk REFERENCES organization ON DELETE CASCADE,
        from_day date NOT NULL,
        to_day date NOT NULL,
        last_job_id uuid,
        runs integer NOT NULL DEFAULT 0,
        changed integer NOT NULL DEFAULT 0,
        requested_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
      );
      CREATE INDEX cost_recompute_organization_idx ON cost_recompute (organization_id, id)`);
    await isolateTenantsOfTable(runner, 'model_price', { tenantColumn: 'organization_id' });
    await isolateTenantsOfTable(runner, 'default_model_price', { tenantColumn: null });
    await isolateTenantsOfTable(runner, 'default_price_list', { tenantColumn: null });
    await isolateTenantsOfTable(runner, 'cost_recompute', { tenantColumn: 'organization_id', app: 'SELECT, INSERT' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE cost_recompute;
      DROP TABLE default_price_list;
      DROP TABLE default_model_price;
      DROP TABLE model_price`);
  }
}
