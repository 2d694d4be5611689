import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What lists of runs are sorted by. A run's row is written several times, and each that no index has in place: so what is
 * known at its end alone is in the index of the row that is written once, run_cost, and its cost stays out of those of job.
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
