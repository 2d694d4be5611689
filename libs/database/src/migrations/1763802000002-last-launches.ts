import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A schedule's last launch comes by its own index. By one of all times alone, which the purge needs, Postgres took it to
 * be near the end, and went through the whole history for a schedule that has none.
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
