import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The reason and the source of a batch cancellation, for the process that cancels the jobs. */
export class BatchCancel1763770000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch ADD cancel_reason text, ADD cancel_source text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch DROP cancel_reason, DROP cancel_source');
  }
}
