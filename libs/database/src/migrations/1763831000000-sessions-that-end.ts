import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Sessions store their address and browser, and end after their organization's idle time, at the latest after 12 hours.
 */
export class SessionsThatEnd1763831000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE user_session ADD COLUMN address text, ADD COLUMN browser text');
    await runner.query(`UPDATE user_session SET expires_at = LEAST(expires_at, created_at + interval '12 hours')`);
    await runner.query(`
      ALTER TABLE organization_settings ADD COLUMN session_idle_minutes integer NOT NULL DEFAULT 60
        CONSTRAINT organization_settings_session_idle_check CHECK (session_idle_minutes BETWEEN 5 AND 1440)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE organization_settings DROP COLUMN session_idle_minutes');
    await runner.query('ALTER TABLE user_session DROP COLUMN address, DROP COLUMN browser');
  }
}
