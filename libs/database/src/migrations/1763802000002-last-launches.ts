import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An index finds a schedule's last launch. With only the index on the times, which the purge needs, Postgres assumed
 * that the last launch is near the end, and scanned the whole history for a schedule without a launch.
 */
export class LastLaunches1763802000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX schedule_run_fired_idx');
    await runner.query(`CREATE INDEX schedule_run_fired_idx ON schedule_run ((fired_at AT TIME ZONE 'UTC'))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX schedule_run_fired_idx');
    await runner.query('CREATE INDEX schedule_run_fired_idx ON schedule_run (fired_at)');
  }
}
