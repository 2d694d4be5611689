import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** A record that the database was restored from a backup, and of its release by an operator. */
export class RecoveryHold1763831000400 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE recovery_hold (
        id integer PRIMARY KEY DEFAULT 1 CONSTRAINT recovery_hold_one_check CHECK (id = 1),
        backup text NOT NULL,
        saved_at timestamptz NOT NULL,
        restored_at timestamptz NOT NULL,
        released_at timestamptz,
        fire_missed boolean NOT NULL DEFAULT false
      )`);
    await isolateTenantsOfTable(runner, 'recovery_hold', { tenantColumn: null });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE recovery_hold');
  }
}
