import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The role of an API key, its allowed addresses and its last address, and the maximum lifetime in an organization. */
export class KeysWithBounds1763831000110 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_key
        ADD COLUMN role text NOT NULL DEFAULT 'member'
          CONSTRAINT api_key_role_check CHECK (role IN ('viewer', 'member')),
        ADD COLUMN ip_allow text[] NOT NULL DEFAULT '{}',
        ADD COLUMN last_used_from text`);
    await runner.query('ALTER TABLE organization_settings ADD COLUMN api_key_max_days integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE organization_settings DROP COLUMN api_key_max_days');
    await runner.query('ALTER TABLE api_key DROP COLUMN role, DROP COLUMN ip_allow, DROP COLUMN last_used_from');
  }
}
