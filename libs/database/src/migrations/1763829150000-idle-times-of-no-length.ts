import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Idle times were ended by the run that they began with, as the one is kept to the microsecond and the other was to the
 * millisecond: adaptive idle stop took the next run to come at once. What they were is not known any more.
 */
export class IdleTimesOfNoLength1763829150000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM agent_idle WHERE ended_at <= began_at');
  }

  async down(): Promise<void> {
    // Nothing to bring back: they told of nothing.
  }
}
