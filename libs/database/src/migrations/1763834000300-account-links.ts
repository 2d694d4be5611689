import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Links by e-mail with which people set a password: forgotten passwords and invitations. */
export class AccountLinks1763834000300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account_link (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT account_link_organization_fk REFERENCES organization ON DELETE CASCADE,
        kind text NOT NULL CONSTRAINT account_link_kind_check CHECK (kind IN ('reset', 'invitation')),
        user_id uuid CONSTRAINT account_link_user_fk REFERENCES app_user ON DELETE CASCADE,
        email text NOT NULL,
        role text,
        secret_hash text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE UNIQUE INDEX account_link_email_key ON account_link (organization_id, kind, email);
      CREATE INDEX account_link_user_idx ON account_link (user_id) WHERE user_id IS NOT NULL;
      CREATE INDEX account_link_expires_idx ON account_link (expires_at);
    `);
    await isolateTenantsOfTable(runner, 'account_link', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE account_link');
  }
}
