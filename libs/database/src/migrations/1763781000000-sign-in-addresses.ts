import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** The addresses from which each account was recently signed in to. */
export class SignInAddresses1763781000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sign_in_address (
        user_id uuid NOT NULL CONSTRAINT sign_in_address_user_fk REFERENCES app_user ON DELETE CASCADE,
        address text NOT NULL,
        organization_id uuid NOT NULL
          CONSTRAINT sign_in_address_organization_fk REFERENCES organization ON DELETE CASCADE,
        last_at timestamptz NOT NULL,
        PRIMARY KEY (user_id, address)
      );
      CREATE INDEX sign_in_address_last_idx ON sign_in_address (last_at);
    `);
    await isolateTenantsOfTable(runner, 'sign_in_address', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sign_in_address');
  }
}
