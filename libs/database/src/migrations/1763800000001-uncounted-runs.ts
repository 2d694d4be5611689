import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The end of a run writes only a usage event. The event is added to the month's counter when the cost of the run is
 * booked.
 */
export class UncountedRuns1763800000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE usage_event ADD counted boolean NOT NULL DEFAULT true;
      CREATE INDEX usage_event_uncounted_idx ON usage_event (organization_id, month) WHERE NOT counted`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO usage_counter AS c (organization_id, month, runs, completed, failed, cancelled, run_ms)
      SELECT organization_id, month, count(*), count(*) FILTER (WHERE outcome = 'completed'),
             count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'), sum(run_ms)
      FROM usage_event WHERE NOT counted GROUP BY organization_id, month
      ON CONFLICT (organization_id, month) DO UPDATE
      SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
          failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
          run_ms = c.run_ms + excluded.run_ms;
      ALTER TABLE usage_event DROP counted`);
  }
}
