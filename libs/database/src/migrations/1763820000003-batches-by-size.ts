import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Batches are sorted by how many runs they have; a batch is written once, and its index with it. */
export class BatchesBySize1763820000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX batch_total_idx ON batch (organization_id, total, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX batch_total_idx');
  }
}
