import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The concurrency keys that each run of a schedule requests, in addition to those of its workflow. */
export class ScheduleKeys1763833300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE schedule ADD concurrency_keys jsonb NOT NULL DEFAULT '[]'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE schedule DROP concurrency_keys');
  }
}
