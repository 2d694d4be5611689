import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A proof of the second factor gives a session another token; the token before it stays valid for a short time. */
export class RenewedSessionTokens1763838300300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE user_session ADD COLUMN previous_hash text, ADD COLUMN previous_until timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE user_session DROP COLUMN previous_until, DROP COLUMN previous_hash');
  }
}
