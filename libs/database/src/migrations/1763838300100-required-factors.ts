import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Marks the users who must set up a second factor on a service with a public address. The users that exist before this
 * migration are not marked, because their scripts may sign in with a password alone.
 */
export class RequiredFactors1763838300100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A constant default is stored once for all existing rows, so no row is rewritten.
    await runner.query('ALTER TABLE app_user ADD COLUMN must_enrol boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE app_user DROP COLUMN must_enrol');
  }
}
