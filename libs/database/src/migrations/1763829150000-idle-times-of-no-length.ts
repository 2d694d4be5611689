import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deletes idle times that the run before them ended, because one time was stored in microseconds and the other in
 * milliseconds. They made the adaptive idle stop expect the next run at once. Their true length is unknown.
 */
export class IdleTimesOfNoLength1763829150000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM agent_idle WHERE ended_at <= began_at');
  }

  async down(): Promise<void> {
    // Nothing is restored, because the deleted rows contained no information.
  }
}
