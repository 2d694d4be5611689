import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Device logins of programs that wait for a user's approval, and the user of each key that they receive. */
export class DeviceLogins1763833100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE device_login (
        id uuid PRIMARY KEY,
        device_hash text NOT NULL,
        user_code text NOT NULL,
        device_name text NOT NULL,
        address text NOT NULL,
        poll_seconds integer NOT NULL,
        polled_at timestamptz,
        answer text CONSTRAINT device_login_answer_check CHECK (answer IN ('allowed', 'denied')),
        user_id uuid CONSTRAINT device_login_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid CONSTRAINT device_login_organization_fk REFERENCES organization ON DELETE CASCADE,
        created_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE UNIQUE INDEX device_login_device_key ON device_login (device_hash);
      CREATE UNIQUE INDEX device_login_code_key ON device_login (user_code);
      CREATE INDEX device_login_expires_idx ON device_login (expires_at);

      ALTER TABLE api_key ADD user_id uuid CONSTRAINT api_key_user_fk REFERENCES app_user ON DELETE CASCADE;
    `);
    await isolateTenantsOfTable(runner, 'device_login', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    // Without its user such a key would remain valid after the account is closed.
    await runner.query(`
      DELETE FROM api_key WHERE user_id IS NOT NULL;
      ALTER TABLE api_key DROP user_id;
      DROP TABLE device_login;
    `);
  }
}
