import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Second factors of users, the tickets between a password and its code, and the setting that requires a second factor.
 */
export class SecondFactor1763831000200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE app_user ADD second_factor_since timestamptz;
      ALTER TABLE user_session ADD second_factor_at timestamptz;
      ALTER TABLE organization_settings ADD require_second_factor boolean NOT NULL DEFAULT false;

      CREATE TABLE second_factor (
        user_id uuid PRIMARY KEY CONSTRAINT second_factor_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL
          CONSTRAINT second_factor_organization_fk REFERENCES organization ON DELETE CASCADE,
        master_key_id text NOT NULL,
        wrapped_key bytea NOT NULL,
        sealed bytea NOT NULL,
        last_counter bigint NOT NULL DEFAULT 0,
        recovery_hashes text[] NOT NULL DEFAULT '{}'
      );

      CREATE TABLE sign_in_ticket (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL CONSTRAINT sign_in_ticket_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL
          CONSTRAINT sign_in_ticket_organization_fk REFERENCES organization ON DELETE CASCADE,
        secret_hash text NOT NULL,
        needs text NOT NULL CONSTRAINT sign_in_ticket_needs_check CHECK (needs IN ('totp', 'enrolment')),
        failures integer NOT NULL DEFAULT 0,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sign_in_ticket_user_idx ON sign_in_ticket (user_id);
      CREATE INDEX sign_in_ticket_expires_idx ON sign_in_ticket (expires_at);
    `);
    await isolateTenantsOfTable(runner, 'second_factor', { tenantColumn: 'organization_id' });
    await isolateTenantsOfTable(runner, 'sign_in_ticket', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE sign_in_ticket, second_factor;
      ALTER TABLE organization_settings DROP require_second_factor;
      ALTER TABLE user_session DROP second_factor_at;
      ALTER TABLE app_user DROP second_factor_since;
    `);
  }
}
