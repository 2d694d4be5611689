import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The queue of the jobs that no agent has yet: by their labels, then in the order in which they start. */
export class UnplacedJobs1763835000101 implements MigrationInterface {
  /** The table is large, so the index is created while it is written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      // An interrupted creation leaves an invalid index.
      await runner.query('DROP INDEX CONCURRENTLY IF EXISTS job_unplaced_idx');
      await runner.query(`
        CREATE INDEX CONCURRENTLY job_unplaced_idx
          ON job (organization_id, target_group, priority DESC, queued_at, id)
          WHERE status = 'queued' AND agent_id IS NULL
      `);
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS job_unplaced_idx');
  }
}
