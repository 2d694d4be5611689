import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes by which lists of runs are sorted. The row of a job is updated several times, and an update of a column that
 * no index contains is cheap (HOT). Therefore values that are known only at the end of a run are indexed in run_cost,
 * whose row is written once, and no index of job contains the cost.
 */
export class SortedRuns1763820000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX job_organization_started_idx ON job (organization_id, started_at, id) WHERE started_at IS NOT NULL;
      CREATE INDEX job_organization_finished_idx ON job (organization_id, finished_at, id)
        WHERE finished_at IS NOT NULL;
      ALTER TABLE run_cost ADD COLUMN duration_ms bigint;
      UPDATE run_cost r
      SET duration_ms = floor(EXTRACT(epoch FROM j.finished_at) * 1000) - floor(EXTRACT(epoch FROM j.started_at) * 1000)
      FROM job j WHERE j.id = r.job_id AND j.started_at IS NOT NULL AND j.finished_at IS NOT NULL;
      CREATE INDEX run_cost_duration_idx ON run_cost (organization_id, duration_ms, job_id)
        WHERE duration_ms IS NOT NULL;
      CREATE INDEX run_cost_total_idx ON run_cost (organization_id, total_micros, job_id);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX run_cost_total_idx, run_cost_duration_idx;
      ALTER TABLE run_cost DROP COLUMN duration_ms;
      DROP INDEX job_organization_finished_idx, job_organization_started_idx;`);
  }
}
