import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Passkeys as another second factor, and their challenges. */
export class Passkeys1763831000300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE passkey (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL CONSTRAINT passkey_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL CONSTRAINT passkey_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        credential_id text NOT NULL,
        public_key bytea NOT NULL,
        counter bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT muster_now(),
        last_used_at timestamptz
      );
      CREATE UNIQUE INDEX passkey_credential_key ON passkey (credential_id);
      CREATE INDEX passkey_user_idx ON passkey (user_id, id);

      CREATE TABLE passkey_challenge (
        challenge text PRIMARY KEY,
        user_id uuid,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX passkey_challenge_expires_idx ON passkey_challenge (expires_at);
    `);
    await isolateTenantsOfTable(runner, 'passkey', { tenantColumn: 'organization_id' });
    await isolateTenantsOfTable(runner, 'passkey_challenge', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    // A user with only passkeys would otherwise have a second factor that cannot be verified any more.
    await runner.query(`
      DROP TABLE passkey_challenge, passkey;
      UPDATE app_user u SET second_factor_since = NULL
        WHERE NOT EXISTS (SELECT FROM second_factor f WHERE f.user_id = u.id AND f.last_counter > 0);
    `);
  }
}
