import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deletes idle times that have no length, because one of their times was stored in microseconds and the other in
 * milliseconds: the run before such an idle time also ended it. They made the adaptive idle stop expect the next run at
 * once. Their true length is unknown.
 */
export class IdleTimesOfNoLength1763829150000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM agent_idle WHERE ended_at <= began_at');
  }

  async down(): Promise<void> {
    // Nothing is restored, because the deleted rows contained no information.
  }
}
