import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A session whose advance fails is retried after growing delays, and then ended. No messages are sent for it in
 * between.
 */
export class SessionFaults1763820000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE autopilot_session ADD faults integer NOT NULL DEFAULT 0, ADD ring_at timestamptz;
      CREATE INDEX autopilot_session_ring_idx ON autopilot_session (ring_at) WHERE ring_at IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE autopilot_session DROP faults, DROP ring_at');
  }
}
