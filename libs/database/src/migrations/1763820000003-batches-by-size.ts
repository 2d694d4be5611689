import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index for sorting batches by their number of runs. A batch is written once, and so is its index entry. */
export class BatchesBySize1763820000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX batch_total_idx ON batch (organization_id, total, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX batch_total_idx');
  }
}
